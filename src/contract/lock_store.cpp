#include "mortise/lock_store.hpp"

#include <algorithm>

#include "sys/clock.hpp"
#include "sys/stoppable_sleep.hpp"

namespace mortise {

namespace {

constexpr std::chrono::nanoseconds kShortestDelay = std::chrono::milliseconds(1);

}  // namespace

std::optional<Grant> LockStore::acquire_within(const LockKey& key, OwnerToken owner, Ttl ttl,
                                               const WaitOptions& options) {
  const sys::TimePoint deadline = sys::deadline_after(options.timeout.nanoseconds());
  const auto delay = std::max(options.retry_delay.nanoseconds(), kShortestDelay);
  for (;;) {
    // Looked at before the attempt: after the last sleep there is one more, so nothing free at the deadline
    // is missed.
    const bool last_look = sys::Clock::now() >= deadline;
    if (auto grant = acquire(key, owner, ttl)) return grant;
    if (last_look) return std::nullopt;
    if (!sys::sleep_unless_stopped(std::min(deadline, sys::deadline_after(delay)), options.stop))
      return std::nullopt;
  }
}

}  // namespace mortise
