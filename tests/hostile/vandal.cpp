#include "hostile/vandal.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "mortise/types.hpp"
#include "segment/layout.hpp"
#include "table/geometry.hpp"

namespace mortise::hostile {

namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::size_t kBody = segment::records_offset() + segment::kPage;

}  // namespace

std::vector<Field> fields_of(std::span<const std::byte> segment) {
  using segment::Header;
  using table::Slot;
  using table::Stripe;
  std::vector<Field> fields;
  const auto add_words = [&](std::size_t offset, std::size_t bytes, std::size_t word) {
    for (std::size_t i = 0; i < bytes; i += word) fields.push_back({offset + i, word});
  };
  const auto& header = *reinterpret_cast<const Header*>(segment.data());
  add_words(0, sizeof(Header), kWord);
  for (std::uint32_t i = 0; i < header.processes; ++i)
    add_words(segment::records_offset() + i * sizeof(segment::ProcessRecord), 2 * kWord, kWord);
  const table::Geometry geometry(header.slots);
  for (const table::SlotClass& slots : geometry.classes()) {
    const std::size_t stripe = kBody + slots.offset;
    add_words(stripe, sizeof(Stripe), sizeof(std::uint32_t));
    for (unsigned i = 0; i < table::kSlotsPerStripe; ++i) {
      const std::size_t slot = stripe + sizeof(Stripe) + std::size_t{i} * slots.slot_bytes;
      const bool is_used = reinterpret_cast<const Slot*>(segment.data() + slot)->identity != 0;
      for (int weight = is_used ? 10 : 1; weight > 0; --weight)
        add_words(slot, sizeof(Slot) + 2 * kWord, kWord);
    }
  }
  return fields;
}

bool is_in_front(std::size_t offset) {
  return offset < kBody;
}

Vandal::Vandal(std::span<std::byte> segment) : segment_(segment), fields_(fields_of(segment)) {}

bool Vandal::strike(std::uint64_t seed) {
  random_.seed(seed);
  hit_the_front_ = false;
  for (std::size_t strikes = 1 + below(8); strikes > 0; --strikes) {
    below(4) == 0 ? strike_anywhere() : strike_field();
  }
  return hit_the_front_;
}

void Vandal::strike_field() {
  const Field field = fields_[below(fields_.size())];
  std::uint64_t old = 0;
  std::memcpy(&old, segment_.data() + field.offset, field.size);
  write(field.offset, field.size, value(old));
}

// Noise, or bytes of another place, as long as a slot at most.
void Vandal::strike_anywhere() {
  const std::size_t size = 1 + below(std::size_t{1} << below(9));
  const std::size_t to = below(segment_.size() - size);
  const std::size_t from = below(segment_.size() - size);
  if (below(2) == 0) {
    std::memmove(segment_.data() + to, segment_.data() + from, size);
    hit_the_front_ |= is_in_front(to);
  } else {
    for (std::size_t i = 0; i < size; ++i) write(to + i, 1, random_());
  }
}

std::uint64_t Vandal::value(std::uint64_t old) {
  constexpr std::array<std::uint64_t, 8> kTelling = {
      0, 1, 2, 0x7fffffff, 0x80000000, 0x40000000, ~std::uint64_t{0} >> 1U, ~std::uint64_t{0}};
  switch (below(6)) {
    case 0:
      return random_();
    case 1:
      return kTelling[below(kTelling.size())];
    case 2:
      return old ^ std::uint64_t{1} << below(64);
    case 3:
      return old + 1 - below(3);
    case 4:  // another length, or another binding
      return (old & ~std::uint64_t{0xffff}) | below(2 * LockKey::kMaxBytes);
    default: {
      std::uint64_t other = 0;
      std::memcpy(&other, segment_.data() + fields_[below(fields_.size())].offset, sizeof(std::uint32_t));
      return other;
    }
  }
}

void Vandal::write(std::size_t offset, std::size_t size, std::uint64_t content) {
  std::memcpy(segment_.data() + offset, &content, size);
  hit_the_front_ |= is_in_front(offset);
}

}  // namespace mortise::hostile
