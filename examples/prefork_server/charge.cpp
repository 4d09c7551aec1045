#include "charge.hpp"

#include <unistd.h>

#include <mortise/mortise.hpp>
#include <thread>

namespace prefork_server {
namespace {

// Stands for a call to a payment provider.
void pay(std::chrono::milliseconds payment_time) {
  std::this_thread::sleep_for(payment_time);
}

}  // namespace

ChargeOutcome charge(const Invoice& invoice, Ledger& ledger, const ChargeTimes& times) {
  mortise::Lock lock = mortise::lock("invoice:" + invoice.id, times.lease);
  auto [ran, outcome] = lock.run_immediately([&] {
    // Whoever had the lock before us may have charged it, and even died before it could answer.
    if (ledger.contains(invoice.id)) return ChargeOutcome::already_charged;

    pay(times.payment);

    // A process that was stopped for longer than its lease cannot know that somebody else has charged the
    // invoice since. So ask, and get the full time again for the line in the ledger: this throws if the lease
    // is lost.
    lock.extend();
    ledger.append({invoice.id, invoice.amount, invoice.currency, lock.fencing_token(), getpid()});
    return ChargeOutcome::charged;
  });
  return ran ? *outcome : ChargeOutcome::being_charged;
}

}  // namespace prefork_server
