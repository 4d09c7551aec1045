// What a LockTable counts: see tally.hpp.
#include <algorithm>

#include "table/lock_table.hpp"

namespace mortise::table {

namespace {

// Refusals of one key that a thread has not added to the key's tally yet.
struct Refusals {
  std::uint64_t segment_id = 0;
  const Slot* slot = nullptr;
  std::uint64_t pending = 0;
  sys::TimePoint next = {};  // when it will
};
constinit thread_local Refusals refusals;

constexpr std::chrono::milliseconds kRefusalsAtOnce{10};

}  // namespace

// Somebody may ask again and again, and be refused in a few dozen nanoseconds each time, of which an addition
// that others see would take a good part. So a thread tells of its first refusal at once, and of those that
// follow within 10 ms when it is refused after that, or another key. The slot is looked at only in the
// segment that it is known to be in: a named segment is never unmapped, and one without a name is never
// mapped again.
void LockTable::count_refusal(const Attempt& attempt) {
  if (attempt.outcome != Outcome::busy && attempt.outcome != Outcome::spoken_for) return;
  const std::uint64_t id = segment_->header().segment_id;
  if (refusals.slot == attempt.slot && refusals.segment_id == id && attempt.since < refusals.next) {
    ++refusals.pending;
    return;
  }
  if (refusals.segment_id == id && refusals.pending != 0)
    tallies().count(*refusals.slot, &KeyTally::busy, refusals.pending);
  tallies().count(*attempt.slot, &KeyTally::busy);
  refusals = {id, attempt.slot, 0, attempt.since + kRefusalsAtOnce};
}

void LockTable::count_wait(const Attempt& attempt, std::chrono::nanoseconds time) {
  const auto floor = std::max<std::int64_t>(std::chrono::floor<sys::Micros>(time).count(), 0);
  const auto micros = static_cast<std::uint64_t>(floor);
  TableTally& table = tallies().of_table();
  table.add_wait(time);
  if (attempt.slot == nullptr) {
    count_up(table.waits);
    count_up(table.waited, micros);
  } else {
    tallies().count(*attempt.slot, &KeyTally::waits);
    tallies().count(*attempt.slot, &KeyTally::waited, micros);
  }
}

// Of a lease that was over, and was ended or replaced.
void LockTable::count_end_of(Lease lease, const Slot& slot) {
  tallies().count(slot, sys::has_come(lease.expiry()) ? &KeyTally::expired : &KeyTally::orphaned);
}

// For a key that moves into a reserved slot, where its fences will be above this one.
void LockTable::begin_tally(const Home& home, const StripeRef::Found& reserved, std::uint64_t fence) {
  const std::uint64_t number = home.first_slot + reserved.index;
  Arrival& arrival = tallies().arrival(number);
  Count& former = home.stripe.header().former_grants;
  const std::uint64_t leaving = grants(*reserved.slot, arrival.fence_before());
  former.store(former.load(std::memory_order_relaxed) + leaving, std::memory_order_relaxed);
  if (arrival.is_tallied()) tallies().of_table().take_over(tallies().of_key(number));
  arrival.begin(fence);
}

}  // namespace mortise::table
