#include "table/snapshot.hpp"

#include <algorithm>
#include <optional>

#include "sys/futex.hpp"
#include "table/key_hash.hpp"
#include "table/stripe_reader.hpp"

namespace mortise::table {

namespace {

constexpr std::uint64_t kGrantedAtMask = (std::uint64_t{1} << 48U) - 1;

// nullopt: the slot holds no lease, or changes too fast to be read. Every load acquires, so that the word is
// read again after all the others.
std::optional<LeaseRecord> read(const Slot& slot, std::size_t key_capacity) {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    const Lease lease = slot.lease.load();
    if (!lease.is_held()) return std::nullopt;
    const sys::TimePoint now = sys::Clock::now();
    // As many bits as an expiry has: more cannot be told in nanoseconds.
    const sys::Micros granted(slot.granted_at.load(std::memory_order_acquire) & kGrantedAtMask);
    const std::uint64_t identity = slot.identity.load(std::memory_order_acquire);
    LeaseRecord record{stored_key(slot, identity, key_capacity),
                       lease,
                       slot.fence.load(std::memory_order_acquire),
                       sys::TimePoint(granted),
                       now,
                       sys::count_sleepers(sys::low_half(slot.lease.owner_word()))};
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
  for_each_stripe(segment.body(), geometry, [&](const StripeReader& stripe) {
    for (unsigned i = 0; i < kSlotsPerStripe; ++i) {
      if (auto record = read(stripe.slot(i), stripe.slots().key_capacity()))
        records.push_back(std::move(*record));
    }
  });
  return records;
}

Census count(const segment::Segment& segment) {
  Census census;
  census.leases_of.resize(segment.processes().count() + std::size_t{1});
  const sys::TimePoint now = sys::Clock::now();
  for_each_stripe(segment.body(), Geometry(segment.header().slots), [&](const StripeReader& stripe) {
    unsigned held = 0;
    for (unsigned i = 0; i < kSlotsPerStripe; ++i) {
      if (stripe.header().tag(i) != 0) ++census.keys;
      const Lease lease = stripe.slot(i).lease.load();
      if (!lease.is_held() || lease.expiry() <= now) continue;
      ++held;
      if (lease.binding() < census.leases_of.size()) ++census.leases_of[lease.binding()];
      if (lease.has_sleepers())
        census.sleepers += sys::count_sleepers(sys::low_half(stripe.slot(i).lease.owner_word()));
    }
    census.slots += kSlotsPerStripe;
    census.fullest_stripe = std::max(census.fullest_stripe, held);
  });
  return census;
}

std::optional<LeaseRecord> snapshot(const segment::Segment& segment, const LockKey& key) {
  const Geometry geometry(segment.header().slots);
  const std::uint64_t hash = hash_of(key, segment.header().hash_seed);
  const SlotClass& slots = geometry.class_for(key.size());
  const StripeReader stripe(segment.body(), slots, static_cast<std::uint32_t>(slots.stripe_of(hash)));
  const std::uint64_t identity = Place::of(hash, key.size()).identity;
  for (unsigned i = 0; i < kSlotsPerStripe; ++i) {
    if (stripe.slot(i).identity.load(std::memory_order_acquire) != identity) continue;
    auto record = read(stripe.slot(i), slots.key_capacity());
    if (record && record->key == key.bytes()) return record;
  }
  return std::nullopt;
}

}  // namespace mortise::table
