#include "peers/raw_futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

#include "peers/peer.hpp"

namespace mortise::bench {

namespace {

void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* time_out = nullptr) {
  syscall(SYS_futex, &word, operation, value, time_out, nullptr, 0);
}

const PeerEntry kEntry("raw futex", make_peer<RawFutex>);

}  // namespace

void RawFutex::acquire() {
  constexpr long kNanosecondsPerSecond = 1'000'000'000;
  const long time_out = time_out_.value_or(std::chrono::nanoseconds(0)).count();
  const timespec time{time_out / kNanosecondsPerSecond, time_out % kNanosecondsPerSecond};
  while (taken_->exchange(1) != 0) futex(*taken_, FUTEX_WAIT, 1, time_out_ ? &time : nullptr);
}

void RawFutex::release() {
  taken_->store(0);
  futex(*taken_, FUTEX_WAKE, 1);
}

}  // namespace mortise::bench
