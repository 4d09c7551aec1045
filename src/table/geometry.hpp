// How many stripes of which slot size a segment has, and where they lie. Follows from one number, the slots
// asked for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "table/stripe.hpp"

namespace mortise::table {

// Keys of one range of lengths live in stripes of their own, so that short ones do not pay for long ones.
struct SlotClass {
  std::uint32_t slot_bytes;
  std::uint32_t stripes;
  std::uint64_t offset;  // of the first stripe, in the body

  [[nodiscard]] std::size_t key_capacity() const { return slot_bytes - sizeof(Slot); }
  [[nodiscard]] std::uint64_t stripe_bytes() const {
    return sizeof(Stripe) + std::uint64_t{kSlotsPerStripe} * slot_bytes;
  }
  [[nodiscard]] std::uint64_t bytes() const { return stripes * stripe_bytes(); }
  // Which of the stripes a key belongs in, by its hash.
  [[nodiscard]] std::uint64_t stripe_of(std::uint64_t hash) const { return (hash >> 32U) * stripes >> 32U; }
};

class Geometry {
 public:
  static constexpr std::uint32_t kMinSlots = kSlotsPerStripe;
  static constexpr std::uint32_t kMaxSlots = 1U << 24U;

  explicit Geometry(std::uint32_t slots);

  [[nodiscard]] std::uint64_t body_bytes() const { return body_bytes_; }
  [[nodiscard]] const auto& classes() const { return classes_; }
  [[nodiscard]] const SlotClass& class_for(std::size_t key_bytes) const noexcept {
    if (key_bytes <= classes_[0].key_capacity()) return classes_[0];
    return key_bytes <= classes_[1].key_capacity() ? classes_[1] : classes_[2];
  }

 private:
  std::array<SlotClass, 3> classes_;
  std::uint64_t body_bytes_ = 0;
};

// Changes whenever a process of another build would read the body differently.
std::uint64_t layout_fingerprint();

}  // namespace mortise::table
