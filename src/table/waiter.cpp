#include "table/waiter.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <utility>

#include "sys/entropy.hpp"
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

// Somebody has the key, should have it first, or adds one; that may change.
bool is_in_the_way(LockTable::Outcome outcome) {
  return outcome == LockTable::Outcome::busy || outcome == LockTable::Outcome::spoken_for ||
         outcome == LockTable::Outcome::stalled;
}

std::chrono::nanoseconds time_until(sys::TimePoint deadline) {
  return std::max(std::chrono::nanoseconds(0), deadline - sys::Clock::now());
}

// The first sleep is brief: whoever is still waiting after it will be told when the holder dies, which for a
// shorter wait is more trouble than it is worth.
constexpr std::chrono::nanoseconds kBrief = std::chrono::milliseconds(1);
// After that, a waiter asks newcomers to stand back.
constexpr std::chrono::nanoseconds kLong = std::chrono::milliseconds(10);
// So long they do: far longer than it takes a waiter that was woken to come, when there is a processor.
constexpr std::chrono::nanoseconds kCourtesy = std::chrono::milliseconds(1);

// Many keys are held for less time than it takes to fall asleep and to wake up. The looks are few, so that
// the lease stays in the cache of who works with it.
bool changes_soon(const Slot& slot, Lease seen, sys::TimePoint deadline) {
  constexpr int kLooks = 8;
  constexpr std::chrono::microseconds kInterval{2};
  for (int look = 0; look < kLooks; ++look) {
    const sys::TimePoint next = sys::deadline_after(kInterval);
    if (next >= deadline) return false;
    while (sys::Clock::now() < next) {
    }
    if (slot.lease.load().is_free()) return true;
  }
  return slot.lease.load() != seen;
}

class Wait {
 public:
  Wait(LockTable& table, const WaitOptions& options, std::chrono::nanoseconds delay, sys::TimePoint begin)
      : stop_(options.stop),
        watch_(table),
        delay_(delay),
        begin_(begin),
        deadline_(sys::later(begin, options.timeout.nanoseconds())) {}

  [[nodiscard]] bool goes_on() const { return !stop_.raised() && sys::Clock::now() < deadline_; }
  [[nodiscard]] std::chrono::nanoseconds patience() const { return std::min(time_until(deadline_), delay_); }
  [[nodiscard]] bool has_slept() const { return has_slept_; }
  // Who has neither slept nor stood back is a newcomer still.
  [[nodiscard]] LockTable::Turn turn() const {
    return has_slept_ || has_stood_back_ ? LockTable::Turn::now : LockTable::Turn::later;
  }
  [[nodiscard]] bool was_crowded() const { return crowd_ > 1; }

  // Until it is worth while to try again.
  void sleep(const LockTable::Attempt& attempt) {
    if (attempt.outcome == LockTable::Outcome::busy) sleep_beside(*attempt.slot, attempt.seen);
    if (attempt.outcome == LockTable::Outcome::spoken_for) {
      LockTable::stand_back(*attempt.slot, attempt.seen, stop_.word(),
                            std::min(deadline_, sys::deadline_after(kCourtesy)));
      has_stood_back_ = true;
    }
  }

 private:
  void sleep_beside(Slot& slot, Lease seen) {
    const sys::TimePoint now = sys::Clock::now();
    const auto waited = now - begin_;
    if (!has_slept_ && waited < kBrief && changes_soon(slot, seen, deadline_)) return;
    if (waited >= kLong) LockTable::ask_to_be_next(slot);
    if (has_slept_) watch_.follow(slot, seen);
    const auto longest = has_slept_ ? until_next_look(slot) : kBrief;
    LockTable::sleep(slot, seen, stop_.word(),
                     std::min({deadline_, seen.expiry(), sys::later(now, longest)}));
    has_slept_ = true;
  }

  // For a wake-up that was swallowed it is enough that one of the sleepers looks: who finds the key free
  // takes it, and wakes the next when it releases. So where many sleep, each looks the less often, and at
  // another moment: some kLookouts of them in every delay. (That none of them looks for a whole delay is as
  // likely as e to the power of -16.) They are counted at some looks only, for that is more work than the
  // look.
  [[nodiscard]] std::chrono::nanoseconds until_next_look(const Slot& slot) {
    constexpr unsigned kLookouts = 16;
    constexpr unsigned kLooksPerCount = 4;
    const bool first = looks_ == 0;
    if (looks_++ % kLooksPerCount == 0) crowd_ = std::max(LockTable::count_sleepers(slot) / kLookouts, 1U);
    const auto interval = std::min(delay_, std::chrono::nanoseconds::max() / crowd_) * crowd_;
    if (!first || crowd_ == 1) return interval;
    const auto part = static_cast<std::chrono::nanoseconds::rep>(sys::thread_random() >> 48U);  // of 65536
    return interval / (1 << 16) * part;
  }

  StopWord stop_;
  HolderWatch watch_;
  std::chrono::nanoseconds delay_;
  sys::TimePoint begin_;
  sys::TimePoint deadline_;
  bool has_slept_ = false;
  bool has_stood_back_ = false;
  unsigned looks_ = 0;
  unsigned crowd_ = 1;  // how many times fewer looks the others save us
};

}  // namespace

// A waiter that was woken always tries once more before it leaves, whatever the time and whoever requested a
// stop: so a wake-up is never carried away, and a key that came free in time is never refused. Nor does it
// wait for long in one go when a stopped process keeps it from adding the key: a stop request is heard.
//
// Who slept and got the key wakes one more sleeper, if there is any: that one finds out who has it now, and
// is told of this holder's death. The other sleepers need not know. Who leaves a crowd wakes one, too: the
// fewer they are, the more often each of them must look.
LockTable::Attempt acquire_within(LockTable& table, const LockKey& key, OwnerToken owner, Ttl ttl,
                                  const WaitOptions& options) {
  using Turn = LockTable::Turn;
  const auto timeout = options.timeout.nanoseconds();
  const auto delay = std::max(options.retry_delay.nanoseconds(), kBrief);
  LockTable::Attempt attempt =
      table.acquire(key, owner, ttl, std::min(timeout, delay), timeout.count() > 0 ? Turn::later : Turn::now);
  if (!is_in_the_way(attempt.outcome)) return attempt;

  const bool took_time = attempt.outcome == LockTable::Outcome::stalled;
  const sys::TimePoint begin = took_time ? attempt.since : sys::Clock::now();
  Wait wait(table, options, delay, begin);
  while (is_in_the_way(attempt.outcome) && wait.goes_on()) {
    wait.sleep(attempt);
    attempt = table.acquire(key, owner, ttl, wait.patience(), wait.turn());
  }
  if (timeout.count() > 0) table.count_wait(attempt, sys::Clock::now() - begin);
  table.count_refusal(attempt);
  const bool granted = attempt.outcome == LockTable::Outcome::granted;
  const bool left_a_crowd = attempt.outcome == LockTable::Outcome::busy && wait.was_crowded();
  if ((granted && wait.has_slept()) || left_a_crowd) LockTable::wake_an_observer(*attempt.slot, attempt.seen);
  return attempt;
}

}  // namespace mortise::table
