#include "table/snapshot.hpp"

#include <algorithm>
#include <optional>

#include "sys/futex.hpp"
#include "table/key_hash.hpp"
#include "table/stripe_reader.hpp"
#include "table/tallies.hpp"

namespace mortise::table {

namespace {

using ConstTallies = Tallies<const std::byte>;

std::uint64_t value(const Count& count) {
  return count.load(std::memory_order_acquire);
}

Counts counts_of(const Slot& slot, const ConstTallies& tallies) {
  const KeyTally& tally = tallies.of_key_in(slot);
  return {grants(slot, tallies.arrival_in(slot).fence_before()), value(tally.busy),    value(tally.waits),
          std::chrono::microseconds(value(tally.waited)),        value(tally.expired), value(tally.orphaned)};
}

void add(const Counts& more, Counts& sum) {
  sum.grants += more.grants;
  sum.busy += more.busy;
  sum.waits += more.waits;
  sum.waited += more.waited;
  sum.expired += more.expired;
  sum.orphaned += more.orphaned;
}

// nullopt: the slot holds no lease, or changes too fast to be read. Every load acquires, so that the word is
// read again after all the others.
std::optional<LeaseRecord> read(const Slot& slot, std::size_t key_capacity, const ConstTallies& tallies) {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    const Lease lease = slot.lease.load();
    if (!lease.is_held()) return std::nullopt;
    const sys::TimePoint now = sys::Clock::now();
    const std::chrono::nanoseconds granted(slot.granted_at.load(std::memory_order_acquire) &
                                           ~Slot::kSpokenFor);
    const std::uint64_t identity = slot.identity.load(std::memory_order_acquire);
    LeaseRecord record{stored_key(slot, identity, key_capacity),
                       lease,
                       slot.fence(lease),
                       sys::TimePoint(granted),
                       now,
                       sys::count_sleepers(sys::low_half(slot.lease.owner_word())),
                       counts_of(slot, tallies)};
    if (slot.lease.load() != lease) continue;
    // Over only by the same word after the look at the clock: it may have been extended meanwhile.
    const bool over = now >= lease.expiry();
    return over || record.key.empty() ? std::nullopt : std::optional(std::move(record));
  }
  return std::nullopt;
}

}  // namespace

std::vector<LeaseRecord> snapshot(const segment::Segment& segment) {
  std::vector<LeaseRecord> records;
  const Geometry geometry(segment.header().slots);
  const ConstTallies tallies(segment.body(), geometry);
  for_each_stripe(segment.body(), geometry, [&](const StripeReader& stripe) {
    for (unsigned i = 0; i < kSlotsPerStripe; ++i) {
      const Slot& slot = stripe.slot(i);
      if (auto record = read(slot, stripe.slots().key_capacity(), tallies))
        records.push_back(std::move(*record));
    }
  });
  return records;
}

Census count(const segment::Segment& segment) {
  Census census;
  census.leases_of.resize(segment.processes().count() + std::size_t{1});
  const sys::TimePoint now = sys::Clock::now();
  const Geometry geometry(segment.header().slots);
  const ConstTallies tallies(segment.body(), geometry);
  for_each_stripe(segment.body(), geometry, [&](const StripeReader& stripe) {
    unsigned held = 0;
    census.counts.grants += value(stripe.header().former_grants);
    for (unsigned i = 0; i < kSlotsPerStripe; ++i) {
      const Slot& slot = stripe.slot(i);
      if (value(slot.fence_mark) != 0) add(counts_of(slot, tallies), census.counts);
      if (stripe.header().tag(i) != 0) ++census.keys;
      const Lease lease = slot.lease.load();
      if (!lease.is_held() || lease.expiry() <= now) continue;
      ++held;
      if (lease.binding() < census.leases_of.size()) ++census.leases_of[lease.binding()];
      if (lease.has_sleepers())
        census.sleepers += sys::count_sleepers(sys::low_half(slot.lease.owner_word()));
    }
    census.slots += kSlotsPerStripe;
    census.fullest_stripe = std::max(census.fullest_stripe, held);
  });
  const TableTally& table = tallies.of_table();
  add({0, value(table.busy), value(table.waits), std::chrono::microseconds(value(table.waited)),
       value(table.expired), value(table.orphaned)},
      census.counts);
  std::ranges::transform(table.waits_by_length, census.waits_by_length.begin(), value);
  return census;
}

namespace {

// The first answer of look(slot, its key's capacity, tallies) among the slots where the key may live.
template <class Look>
auto look_for(const segment::Segment& segment, const LockKey& key, Look&& look) {
  const Geometry geometry(segment.header().slots);
  const ConstTallies tallies(segment.body(), geometry);
  const std::uint64_t hash = hash_of(key, segment.header().hash_seed);
  const SlotClass& slots = geometry.class_for(key.size());
  const StripeReader stripe(segment.body(), slots, static_cast<std::uint32_t>(slots.stripe_of(hash)));
  const std::uint64_t identity = Place::of(hash, key.size()).identity;
  decltype(look(stripe.slot(0), slots.key_capacity(), tallies)) found;
  for (unsigned i = 0; i < kSlotsPerStripe && !found; ++i) {
    const Slot& slot = stripe.slot(i);
    if (slot.identity.load(std::memory_order_acquire) == identity)
      found = look(slot, slots.key_capacity(), tallies);
  }
  return found;
}

}  // namespace

std::optional<LeaseRecord> snapshot(const segment::Segment& segment, const LockKey& key) {
  return look_for(segment, key, [&](const Slot& slot, std::size_t capacity, const ConstTallies& tallies) {
    auto record = read(slot, capacity, tallies);
    return record && record->key == key.bytes() ? std::move(record) : std::nullopt;
  });
}

std::optional<Counts> counts(const segment::Segment& segment, const LockKey& key) {
  return look_for(segment, key, [&](const Slot& slot, std::size_t, const ConstTallies& tallies) {
    return slot.holds(key) ? std::optional(counts_of(slot, tallies)) : std::nullopt;
  });
}

}  // namespace mortise::table
