// Where what is counted lies in a segment that fits (LockTable::fits). Of a segment without write access it
// is const.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "table/geometry.hpp"
#include "table/tally.hpp"

namespace mortise::table {

// Of the key in the slot: `fence_before` is the last fence before it moved in.
inline std::uint64_t grants(const Slot& slot, std::uint64_t fence_before) noexcept {
  const std::uint64_t fence = slot.last_fence();
  return fence > fence_before ? fence - fence_before : 0;
}

template <class Byte>
class Tallies {
 public:
  template <class T>
  using Shared = std::conditional_t<std::is_const_v<Byte>, const T, T>;

  Tallies(Byte* body, const Geometry& geometry) noexcept : body_(body), geometry_(geometry) {}

  [[nodiscard]] Shared<TableTally>& of_table() const noexcept {
    return *reinterpret_cast<Shared<TableTally>*>(body_ + geometry_.tallies_offset());
  }
  [[nodiscard]] Shared<KeyTally>& of_key(std::uint64_t slot_number) const noexcept {
    return reinterpret_cast<Shared<KeyTally>*>(body_ + geometry_.key_tallies_offset())[slot_number];
  }
  [[nodiscard]] Shared<KeyTally>& of_key_in(const Slot& slot) const noexcept {
    return of_key(number_of(slot));
  }
  [[nodiscard]] Shared<Arrival>& arrival(std::uint64_t slot_number) const noexcept {
    return reinterpret_cast<Shared<Arrival>*>(body_ + geometry_.arrivals_offset())[slot_number];
  }
  [[nodiscard]] Shared<Arrival>& arrival_in(const Slot& slot) const noexcept {
    return arrival(number_of(slot));
  }

  // Adds to a part of the tally of the key in the slot. The mark comes second: so what was added is found, or
  // goes to a later key.
  void count(const Slot& slot, Count KeyTally::*part, std::uint64_t more = 1) const noexcept {
    const std::uint64_t number = number_of(slot);
    count_up(of_key(number).*part, more);
    arrival(number).mark_tallied();
  }

 private:
  [[nodiscard]] std::uint64_t number_of(const Slot& slot) const noexcept {
    const auto offset = reinterpret_cast<const std::byte*>(&slot) - body_;
    return geometry_.slot_number(static_cast<std::uint64_t>(offset));
  }

  Byte* body_;
  const Geometry& geometry_;
};

}  // namespace mortise::table
