#include "table/snapshot.hpp"

#include <optional>

#include "sys/futex.hpp"
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

}  // namespace mortise::table
