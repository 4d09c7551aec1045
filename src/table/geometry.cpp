#include "table/geometry.hpp"

#include <bit>
#include <initializer_list>

#include "mortise/types.hpp"
#include "segment/layout.hpp"
#include "table/key_hash.hpp"

namespace mortise::table {

namespace {

struct ClassShape {
  std::uint32_t slot_bytes;
  std::uint32_t share;  // one slot for each `share` slots asked for
};
// Multiples of a cache line, which also aligns each lease word to 16 bytes. The first ones are a single line:
// where there are many short keys, no line is fetched that nobody needs.
constexpr std::array kShapes = std::to_array<ClassShape>({{64, 1}, {128, 1}, {256, 4}, {1088, 16}});
static_assert(kShapes.back().slot_bytes - sizeof(Slot) >= LockKey::kMaxBytes);

}  // namespace

Geometry::Geometry(std::uint32_t slots) : classes_{} {
  for (std::size_t i = 0; i < kShapes.size(); ++i) {
    const std::uint32_t wanted = slots / kShapes[i].share;
    const std::uint32_t stripes =
        wanted < kSlotsPerStripe ? 1 : (wanted + kSlotsPerStripe - 1) / kSlotsPerStripe;
    classes_[i] = {kShapes[i].slot_bytes, stripes, tallies_offset_, slots_};
    tallies_offset_ += classes_[i].bytes();
    slots_ += std::uint64_t{stripes} * kSlotsPerStripe;
  }
}

std::uint64_t layout_fingerprint() {
  std::uint64_t fingerprint = 0;
  const auto add = [&fingerprint](std::uint64_t part) {
    fingerprint = (std::rotl(fingerprint, 9) ^ part) * 0x9E3779B97F4A7C15;
  };
  for (const std::uint64_t part :
       {std::uint64_t{segment::kVersion}, kHashVersion,
        std::uint64_t{std::endian::native == std::endian::little}, std::uint64_t{sizeof(void*)},
        std::uint64_t{sizeof(segment::ProcessRecord)}, std::uint64_t{sizeof(Stripe)},
        std::uint64_t{offsetof(Stripe, floor)}, std::uint64_t{offsetof(Stripe, tags)},
        std::uint64_t{sizeof(TableTally)}, std::uint64_t{sizeof(Arrival)}, std::uint64_t{sizeof(KeyTally)},
        std::uint64_t{sizeof(ForcedEnds)}, std::uint64_t{sizeof(Slot)},
        std::uint64_t{offsetof(Slot, fence_mark)}, std::uint64_t{offsetof(Slot, identity)},
        std::uint64_t{kSlotsPerStripe}}) {
    add(part);
  }
  for (const ClassShape& shape : kShapes) {
    add(shape.slot_bytes);
    add(shape.share);
  }
  return fingerprint;
}

}  // namespace mortise::table
