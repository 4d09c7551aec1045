#include "table/geometry.hpp"

#include <gtest/gtest.h>

#include <set>

#include "mortise/types.hpp"
#include "table/key_hash.hpp"

namespace mortise::table {
namespace {

class GeometryOf : public testing::TestWithParam<std::uint32_t> {};

TEST_P(GeometryOf, ClassesDoNotOverlapAndSlotsAreAligned) {
  const Geometry geometry(GetParam());
  std::uint64_t end = 0;
  for (const SlotClass& slots : geometry.classes()) {
    EXPECT_EQ(slots.offset, end);
    EXPECT_EQ(slots.stripe_bytes() % 64, 0U);
    EXPECT_EQ(slots.slot_bytes % 64, 0U);
    EXPECT_GE(slots.stripes, 1U);
    end = slots.offset + slots.bytes();
  }
  EXPECT_EQ(geometry.tallies_offset(), end);
  for (const std::size_t key_bytes : {24, 88}) {
    EXPECT_GE(std::uint64_t{geometry.class_for(key_bytes).stripes} * kSlotsPerStripe, GetParam())
        << key_bytes;
  }
}

TEST_P(GeometryOf, EverySlotHasATallyOfItsOwn) {
  const Geometry geometry(GetParam());
  std::uint64_t next = 0;
  const auto expect_next = [&](const SlotClass& slots, std::uint64_t stripe, unsigned slot) {
    const std::uint64_t offset = slots.offset + stripe * slots.stripe_bytes() + sizeof(Stripe) +
                                 std::uint64_t{slot} * slots.slot_bytes;
    ASSERT_EQ(geometry.slot_number(offset), next++);
  };
  for (const SlotClass& slots : geometry.classes()) {
    for (std::uint64_t stripe = 0; stripe < slots.stripes; ++stripe)
      for (unsigned slot = 0; slot < kSlotsPerStripe; ++slot) expect_next(slots, stripe, slot);
  }
  EXPECT_EQ(geometry.key_tallies_offset(), geometry.arrivals_offset() + next * sizeof(Arrival));
  EXPECT_EQ(geometry.forced_ends_offset(), geometry.key_tallies_offset() + next * sizeof(KeyTally));
}

TEST_P(GeometryOf, EveryKeyFitsItsClass) {
  const Geometry geometry(GetParam());
  for (std::size_t bytes = 1; bytes <= LockKey::kMaxBytes; ++bytes) {
    EXPECT_LE((bytes + 7) / 8 * 8, geometry.class_for(bytes).key_capacity()) << bytes;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, GeometryOf, testing::Values(64, 65, 1000, 16384, 1U << 24U));

TEST(Geometry, ShortKeysDoNotPayForLongOnes) {
  const Geometry geometry(16384);
  const auto bytes_per_slot = [&](const SlotClass& slots) {
    return slots.bytes() / (std::uint64_t{slots.stripes} * kSlotsPerStripe);
  };
  EXPECT_LE(bytes_per_slot(geometry.class_for(24)), 80U);
  EXPECT_LE(bytes_per_slot(geometry.class_for(64)), 160U);
}

TEST(Place, SpreadsKeysOverHomesAndTags) {
  std::set<unsigned> homes;
  std::set<unsigned> tags;
  for (int i = 0; i < 10'000; ++i) {
    const LockKey key("invoice:" + std::to_string(i));
    const Place place = Place::of(hash_of(key, 7), key.size());
    homes.insert(place.home);
    tags.insert(place.tag);
    EXPECT_EQ(place.tag, Place::tag_of(place.identity));
  }
  EXPECT_EQ(homes.size(), 64U);
  EXPECT_EQ(tags.size(), 255U);
  EXPECT_EQ(tags.count(0), 0U) << "0 says that there is no key";
}

TEST(KeyHash, DependsOnEveryByteTheLengthAndTheSeed) {
  const std::string base(40, 'x');
  std::set<std::uint64_t> hashes{hash_of(LockKey(base), 1), hash_of(LockKey(base), 2)};
  for (std::size_t i = 0; i < base.size(); ++i) {
    std::string other = base;
    other[i] = 'y';
    hashes.insert(hash_of(LockKey(other), 1));
  }
  EXPECT_EQ(hashes.size(), 42U);
  EXPECT_NE(hash_of(LockKey("a"), 1), hash_of(LockKey(std::string_view("a\0", 2)), 1));
}

}  // namespace
}  // namespace mortise::table
