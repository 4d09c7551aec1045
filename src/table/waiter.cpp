#include "table/waiter.hpp"

#include <algorithm>
#include <atomic>

#include "sys/futex.hpp"

namespace mortise::table {

namespace {

// Turns a stop request into a word that can be slept on.
class StopWord {
 public:
  explicit StopWord(const std::stop_token& stop)
      : possible_(stop.stop_possible()), callback_(stop, Raise{&word_}) {}
  // nullptr: no stop will ever be requested.
  [[nodiscard]] const std::atomic<std::uint32_t>* word() const { return possible_ ? &word_ : nullptr; }
  [[nodiscard]] bool raised() const { return word_.load(std::memory_order_acquire) != 0; }

 private:
  struct Raise {
    std::atomic<std::uint32_t>* word;
    void operator()() const noexcept {
      word->store(1, std::memory_order_release);
      sys::futex_wake(reinterpret_cast<sys::FutexWord>(word), sys::kAllSleepers);
    }
  };
  std::atomic<std::uint32_t> word_ = 0;
  bool possible_;
  std::stop_callback<Raise> callback_;
};

}  // namespace

// A waiter that was woken always tries once more before it leaves, whatever the time and whoever requested a
// stop: so a wake-up is never carried away, and a key that came free in time is never refused. Nor does it
// wait for long in one go when a stopped process keeps it from adding the key: a stop request is heard.
LockTable::Attempt acquire_within(LockTable& table, const LockKey& key, OwnerToken owner, Ttl ttl,
                                  const WaitOptions& options) {
  constexpr std::chrono::nanoseconds kShortestDelay = std::chrono::milliseconds(1);
  const sys::TimePoint deadline = sys::deadline_after(options.timeout.nanoseconds());
  const auto delay = std::max(options.retry_delay.nanoseconds(), kShortestDelay);
  const StopWord stop(options.stop);
  for (;;) {
    const bool last_try = stop.raised() || sys::Clock::now() >= deadline;
    const sys::TimePoint shape_deadline = std::min(deadline, sys::deadline_after(delay));
    const LockTable::Attempt attempt = table.acquire(key, owner, ttl, shape_deadline);
    const bool stalled = attempt.outcome == LockTable::Outcome::stalled;
    if (stalled && !stop.raised() && sys::Clock::now() < deadline) continue;
    if (attempt.outcome != LockTable::Outcome::busy || last_try) return attempt;
    LockTable::sleep(*attempt.slot, attempt.seen, stop.word(),
                     std::min({deadline, attempt.seen.expiry(), sys::deadline_after(delay)}));
  }
}

}  // namespace mortise::table
