#include "peers/raw_futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "peers/peer.hpp"

namespace mortise::bench {

namespace {

void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value) {
  syscall(SYS_futex, &word, operation, value, nullptr, nullptr, 0);
}

const PeerEntry kEntry("raw futex", make_peer<RawFutex>);

}  // namespace

void RawFutex::acquire() {
  while (taken_->exchange(1) != 0) futex(*taken_, FUTEX_WAIT, 1);
}

void RawFutex::release() {
  taken_->store(0);
  futex(*taken_, FUTEX_WAKE, 1);
}

}  // namespace mortise::bench
