// The stripes of a segment, for who only reads: the mapping may be without write access.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>

#include "segment/segment.hpp"
#include "table/geometry.hpp"
#include "table/stripe.hpp"

namespace mortise::table {

class StripeReader {
 public:
  StripeReader(const std::byte* body, const SlotClass& slots, std::uint32_t index)
      : offset_(slots.offset + index * slots.stripe_bytes()),
        stripe_(body + offset_),
        slots_(slots),
        index_(index) {}

  [[nodiscard]] const Stripe& header() const { return *reinterpret_cast<const Stripe*>(stripe_); }
  [[nodiscard]] const Slot& slot(unsigned index) const {
    return *reinterpret_cast<const Slot*>(stripe_ + sizeof(Stripe) + std::size_t{index} * slots_.slot_bytes);
  }
  [[nodiscard]] const SlotClass& slots() const { return slots_; }
  // Among the stripes of its slot size.
  [[nodiscard]] std::uint32_t index() const { return index_; }
  // In the body.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }

 private:
  std::uint64_t offset_;
  const std::byte* stripe_;
  const SlotClass& slots_;
  std::uint32_t index_;
};

// Of a segment that fits (LockTable::fits): every stripe of its body, in the order in which they lie.
template <class Visit>
void for_each_stripe(const std::byte* body, const Geometry& geometry, Visit&& visit) {
  for (const SlotClass& slots : geometry.classes()) {
    for (std::uint32_t i = 0; i < slots.stripes; ++i) visit(StripeReader(body, slots, i));
  }
}

// Who changes the shape of a stripe, as far as one who only looks can tell.
inline sys::RobustMutex::Condition shape_condition(const segment::Segment& segment, const Stripe& stripe) {
  using State = sys::RobustMutex::Condition::State;
  if (segment.header().guard == segment::Guard::robust_mutex) return stripe.mutex.condition();
  const std::uint32_t shaper = stripe.shaper.load(std::memory_order_acquire);
  if (shaper == 0) return {State::free};
  const auto process = segment.processes().info(static_cast<segment::ProcessSlot>(shaper - 1));
  return {process.alive ? State::held : State::owner_died, process.pid_in_this_namespace()};
}

// Of an identity: how long its key is (Place::of).
inline constexpr std::uint64_t kKeyBytesMask = 0xffff;

// The bytes of the key that an identity is of; empty when it is of none. Every load acquires.
inline std::string stored_key(const Slot& slot, std::uint64_t identity, std::size_t capacity) {
  std::string key(identity & kKeyBytesMask, '\0');
  if (key.size() > std::min(capacity, LockKey::kMaxBytes)) return {};
  for (std::size_t i = 0; i < key.size(); i += sizeof(std::uint64_t)) {
    const std::uint64_t word = slot.key()[i / sizeof(std::uint64_t)].load(std::memory_order_acquire);
    std::memcpy(key.data() + i, &word, std::min(sizeof(word), key.size() - i));
  }
  return key;
}

}  // namespace mortise::table
