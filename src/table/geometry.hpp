// How many stripes of which slot size a segment has, where they lie, and where their tallies do. Follows from
// one number, the slots asked for.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "table/forced_ends.hpp"
#include "table/stripe.hpp"
#include "table/tally.hpp"

namespace mortise::table {

// Keys of one range of lengths live in stripes of their own, so that short ones do not pay for long ones.
struct SlotClass {
  std::uint32_t slot_bytes;
  std::uint32_t stripes;
  std::uint64_t offset;      // of the first stripe, in the body
  std::uint64_t first_slot;  // how many slots of the table are before these

  [[nodiscard]] std::size_t key_capacity() const { return slot_bytes - sizeof(Slot); }
  [[nodiscard]] std::uint64_t stripe_bytes() const {
    return sizeof(Stripe) + std::uint64_t{kSlotsPerStripe} * slot_bytes;
  }
  [[nodiscard]] std::uint64_t bytes() const { return stripes * stripe_bytes(); }
  // The number of the stripe's first slot among all of the table.
  [[nodiscard]] std::uint64_t first_slot_of(std::uint64_t stripe) const {
    return first_slot + stripe * kSlotsPerStripe;
  }
  // Which of the stripes a key belongs in, by its hash.
  [[nodiscard]] std::uint64_t stripe_of(std::uint64_t hash) const { return (hash >> 32U) * stripes >> 32U; }
};

class Geometry {
 public:
  static constexpr std::uint32_t kMinSlots = kSlotsPerStripe;
  static constexpr std::uint32_t kMaxSlots = 1U << 24U;

  explicit Geometry(std::uint32_t slots);

  [[nodiscard]] std::uint64_t body_bytes() const { return forced_ends_offset() + sizeof(ForcedEnds); }
  // What is counted lies behind the stripes: the table's tally, and then two arrays in the order of the
  // slots. The second is touched only for keys of which something was counted.
  [[nodiscard]] std::uint64_t tallies_offset() const { return tallies_offset_; }
  [[nodiscard]] std::uint64_t arrivals_offset() const { return tallies_offset_ + sizeof(TableTally); }
  [[nodiscard]] std::uint64_t key_tallies_offset() const {
    return arrivals_offset() + slots_ * sizeof(Arrival);
  }
  [[nodiscard]] std::uint64_t forced_ends_offset() const {
    return key_tallies_offset() + slots_ * sizeof(KeyTally);
  }
  // The number of the slot that begins there in the body. Two divisions: not for the way of every acquire.
  [[nodiscard]] std::uint64_t slot_number(std::uint64_t slot_offset) const noexcept {
    const SlotClass& slots =
        *std::prev(std::ranges::upper_bound(classes_, slot_offset, {}, &SlotClass::offset));
    const std::uint64_t offset = slot_offset - slots.offset;
    return slots.first_slot_of(offset / slots.stripe_bytes()) +
           (offset % slots.stripe_bytes() - sizeof(Stripe)) / slots.slot_bytes;
  }
  [[nodiscard]] const auto& classes() const { return classes_; }
  [[nodiscard]] const SlotClass& class_for(std::size_t key_bytes) const noexcept {
    for (const SlotClass& slots : classes_) {
      if (key_bytes <= slots.key_capacity()) return slots;
    }
    return classes_.back();
  }

 private:
  std::array<SlotClass, 4> classes_;
  std::uint64_t slots_ = 0;
  std::uint64_t tallies_offset_ = 0;
};

// Changes whenever a process of another build would read the body differently.
std::uint64_t layout_fingerprint();

}  // namespace mortise::table
