#include "table/snapshot.hpp"

#include <cstring>
#include <optional>

#include "sys/futex.hpp"
#include "table/geometry.hpp"

namespace mortise::table {

namespace {

const Slot& slot_at(const std::byte* stripe, const SlotClass& slots, unsigned index) {
  return *reinterpret_cast<const Slot*>(stripe + sizeof(Stripe) + std::size_t{index} * slots.slot_bytes);
}

std::string key_of(const Slot& slot, std::size_t capacity) {
  constexpr std::uint64_t kLengthMask = 0xffff;
  std::string key(slot.identity.load(std::memory_order_acquire) & kLengthMask, '\0');
  if (key.empty() || key.size() > capacity) return {};
  for (std::size_t i = 0; i < key.size(); i += sizeof(std::uint64_t)) {
    const std::uint64_t word = slot.key()[i / sizeof(std::uint64_t)].load(std::memory_order_acquire);
    std::memcpy(key.data() + i, &word, std::min(sizeof(word), key.size() - i));
  }
  return key;
}

// nullopt: the slot holds no lease, or changes too fast to be read. Every load acquires, so that the word is
// read again after all the others.
std::optional<LeaseRecord> read(const Slot& slot, std::size_t key_capacity) {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    const Lease lease = slot.lease.load();
    if (!lease.is_held()) return std::nullopt;
    const sys::TimePoint now = sys::Clock::now();
    if (now >= lease.expiry()) return std::nullopt;
    const sys::Micros granted(slot.granted_at.load(std::memory_order_acquire));
    LeaseRecord record{
        key_of(slot, key_capacity), lease, slot.fence.load(std::memory_order_acquire),
        sys::TimePoint(granted),    now,   sys::count_sleepers(sys::low_half(slot.lease.owner_word()))};
    if (slot.lease.load() != lease) continue;
    return record.key.empty() ? std::nullopt : std::optional(std::move(record));
  }
  return std::nullopt;
}

}  // namespace

std::vector<LeaseRecord> snapshot(const segment::Segment& segment) {
  std::vector<LeaseRecord> records;
  const Geometry geometry(segment.header().slots);
  for (const SlotClass& slots : geometry.classes()) {
    for (std::uint32_t i = 0; i < slots.stripes; ++i) {
      const std::byte* stripe = segment.body() + slots.offset + i * slots.stripe_bytes();
      for (unsigned j = 0; j < kSlotsPerStripe; ++j) {
        if (auto record = read(slot_at(stripe, slots, j), slots.key_capacity()))
          records.push_back(std::move(*record));
      }
    }
  }
  return records;
}

}  // namespace mortise::table
