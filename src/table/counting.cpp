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
    count_up(tallies().of_key_in(*refusals.slot).busy, refusals.pending);
  count_up(tallies().of_key_in(*attempt.slot).busy);
  refusals = {id, attempt.slot, 0, attempt.since + kRefusalsAtOnce};
}

void LockTable::count_wait(const Attempt& attempt, std::chrono::nanoseconds time) {
  const auto micros = std::max<std::int64_t>(std::chrono::floor<sys::Micros>(time).count(), 0);
  TableTally& table = tallies().of_table();
  KeyTally* const key = attempt.slot != nullptr ? &tallies().of_key_in(*attempt.slot) : nullptr;
  table.add_wait(time);
  count_up(key != nullptr ? key->waits : table.waits);
  count_up(key != nullptr ? key->waited : table.waited, static_cast<std::uint64_t>(micros));
}

// Of a lease that was over, and was ended or replaced.
void LockTable::count_end_of(Lease lease, const Slot& slot) {
  KeyTally& tally = tallies().of_key_in(slot);
  count_up(sys::has_come(lease.expiry()) ? tally.expired : tally.orphaned);
}

// For a key that moves into a reserved slot, where its fences will be above this one.
void LockTable::begin_tally(const Home& home, const StripeRef::Found& reserved, std::uint64_t fence) {
  const std::uint64_t number = home.first_slot + reserved.index;
  Count& before = tallies().fence_before(number);
  Count& former = home.stripe.header().former_grants;
  const std::uint64_t leaving = grants(*reserved.slot, before.load(std::memory_order_relaxed));
  former.store(former.load(std::memory_order_relaxed) + leaving, std::memory_order_relaxed);
  tallies().of_table().take_over(tallies().of_key(number));
  before.store(fence, std::memory_order_relaxed);
}

}  // namespace mortise::table
