// Charging an invoice once, whoever asks and however often.
#pragma once

#include <chrono>
#include <cstdint>

#include "invoices.hpp"
#include "ledger.hpp"

namespace prefork_server {

struct ChargeTimes {
  std::chrono::milliseconds payment;  // how long a payment takes
  std::chrono::milliseconds lease;    // how long a worker that hangs keeps the invoice
};

enum class ChargeOutcome {
  charged,
  already_charged,
  being_charged,  // by another worker, at this moment
};

// Throws mortise::StoreError when the locks could not be asked, mortise::LockNotHeldError when the payment
// took longer than the lease: either way nothing was written to the ledger.
ChargeOutcome charge(const Invoice& invoice, Ledger& ledger, const ChargeTimes& times);

}  // namespace prefork_server
