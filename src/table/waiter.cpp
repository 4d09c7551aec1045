#include "table/waiter.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>

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

// Watches whoever is in the way at the moment.
class HolderWatch {
 public:
  explicit HolderWatch(LockTable& table) : table_(table) {}
  void follow(Slot& slot, Lease seen) {
    if (slot_ == &slot && lease_.token() == seen.token() && lease_.binding() == seen.binding()) return;
    watch_.reset();
    watch_ = table_.watch_holder(slot, seen);
    slot_ = &slot;
    lease_ = seen;
  }

 private:
  LockTable& table_;
  Slot* slot_ = nullptr;
  Lease lease_;
  std::unique_ptr<segment::DeathWatch> watch_;
};

// Somebody has the key, or adds one; that may change.
bool is_in_the_way(LockTable::Outcome outcome) {
  return outcome == LockTable::Outcome::busy || outcome == LockTable::Outcome::stalled;
}

std::chrono::nanoseconds time_until(sys::TimePoint deadline) {
  return std::max(std::chrono::nanoseconds(0), deadline - sys::Clock::now());
}

}  // namespace

// A waiter that was woken always tries once more before it leaves, whatever the time and whoever requested a
// stop: so a wake-up is never carried away, and a key that came free in time is never refused. Nor does it
// wait for long in one go when a stopped process keeps it from adding the key: a stop request is heard.
//
// The first sleep is brief. Who is still waiting then will be told when the holder dies: for a shorter wait
// that is more trouble than it is worth.
LockTable::Attempt acquire_within(LockTable& table, const LockKey& key, OwnerToken owner, Ttl ttl,
                                  const WaitOptions& options) {
  constexpr std::chrono::nanoseconds kBrief = std::chrono::milliseconds(1);
  const auto timeout = options.timeout.nanoseconds();
  const auto delay = std::max(options.retry_delay.nanoseconds(), kBrief);
  LockTable::Attempt attempt = table.acquire(key, owner, ttl, std::min(timeout, delay));
  if (!is_in_the_way(attempt.outcome)) return attempt;

  const bool was_busy = attempt.outcome == LockTable::Outcome::busy;  // and so came at once
  const sys::TimePoint deadline = sys::later(was_busy ? sys::Clock::now() : attempt.since, timeout);
  const StopWord stop(options.stop);
  HolderWatch watch(table);
  auto longest_sleep = kBrief;
  while (is_in_the_way(attempt.outcome) && !stop.raised() && sys::Clock::now() < deadline) {
    if (attempt.outcome == LockTable::Outcome::busy) {
      if (longest_sleep != kBrief) watch.follow(*attempt.slot, attempt.seen);
      LockTable::sleep(*attempt.slot, attempt.seen, stop.word(),
                       std::min({deadline, attempt.seen.expiry(), sys::deadline_after(longest_sleep)}));
      longest_sleep = delay;
    }
    attempt = table.acquire(key, owner, ttl, std::min(time_until(deadline), delay));
  }
  return attempt;
}

}  // namespace mortise::table
