#include "mortise/lock_store.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "sys/clock.hpp"

namespace mortise {

namespace {

constexpr std::chrono::nanoseconds kShortestDelay = std::chrono::milliseconds(1);

// Sleeps until `until`, or until stop is requested: then false.
bool sleep_unless_stopped(const std::stop_token& stop, sys::TimePoint until) {
  std::mutex mutex;
  std::condition_variable_any never_notified;
  std::unique_lock guard(mutex);
  never_notified.wait_until(guard, stop, until, [] { return false; });
  return !stop.stop_requested();
}

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
    if (!sleep_unless_stopped(options.stop, std::min(deadline, sys::deadline_after(delay))))
      return std::nullopt;
  }
}

}  // namespace mortise
