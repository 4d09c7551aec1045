// What is counted in a table, for display. A count is raised by one atomic addition, after the fact and only
// where somebody was refused, waited or found a lease over: an acquire of a known, free key counts nothing,
// for its fencing number is a count already. Who is killed between the fact and the count leaves it
// uncounted.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace mortise::table {

using Count = std::atomic<std::uint64_t>;

inline void count_up(Count& count, std::uint64_t more = 1) noexcept {
  count.fetch_add(more, std::memory_order_relaxed);
}

// How the key in a slot came there. Written under the stripe's mutex, but for the mark.
class Arrival {
 public:
  // The slot's last fence before: each one above it is a grant of the key.
  [[nodiscard]] std::uint64_t fence_before() const noexcept {
    return word_.load(std::memory_order_acquire) & ~kTallied;
  }
  void begin(std::uint64_t fence_before) noexcept { word_.store(fence_before, std::memory_order_relaxed); }

  // Has anything been added to the key's tally? Most keys never have one, and theirs is not looked at when
  // they move out: a line of memory less.
  [[nodiscard]] bool is_tallied() const noexcept {
    return (word_.load(std::memory_order_acquire) & kTallied) != 0;
  }
  void mark_tallied() noexcept {
    if (!is_tallied()) word_.fetch_or(kTallied, std::memory_order_release);
  }

 private:
  static constexpr std::uint64_t kTallied = std::uint64_t{1} << 63U;
  Count word_;
};
static_assert(sizeof(Arrival) == 8);

// Of the key in a slot, for as long as it lives there. Its grants are told by fences: see Arrival.
struct KeyTally {
  Count busy;      // acquires that ended because somebody else held the key
  Count waits;     // acquires that did not get it at once and waited, however they ended
  Count waited;    // µs, all waits together
  Count expired;   // leases that were found expired by who took their place
  Count orphaned;  // leases of dead processes that were ended
};
static_assert(sizeof(KeyTally) == 40);

// Of the whole table: the tallies of keys that moved out, and waits by their length. Grants of keys that
// moved out are in their stripes (Stripe::former_grants).
struct alignas(64) TableTally {
  // The upper ends of the parts of the histogram; the last part has none.
  static constexpr std::array<std::chrono::milliseconds, 6> kWaitBounds = {
      std::chrono::milliseconds(1),    std::chrono::milliseconds(10), std::chrono::milliseconds(100),
      std::chrono::milliseconds(1000), std::chrono::seconds(10),      std::chrono::seconds(60)};

  Count busy;
  Count waits;
  Count waited;
  Count expired;
  Count orphaned;
  std::array<Count, kWaitBounds.size() + 1> waits_by_length;

  void add_wait(std::chrono::nanoseconds time) noexcept {
    const auto part = std::ranges::lower_bound(kWaitBounds, time) - kWaitBounds.begin();
    count_up(waits_by_length[static_cast<std::size_t>(part)]);
  }

  // The key leaves its slot, which is reserved. What is added to its tally at this moment goes to a later
  // key.
  void take_over(KeyTally& key) noexcept {
    move(key.busy, busy);
    move(key.waits, waits);
    move(key.waited, waited);
    move(key.expired, expired);
    move(key.orphaned, orphaned);
  }

 private:
  static void move(Count& from, Count& to) noexcept {
    if (from.load(std::memory_order_relaxed) != 0) count_up(to, from.exchange(0, std::memory_order_relaxed));
  }
};
static_assert(sizeof(TableTally) == 128);

}  // namespace mortise::table
