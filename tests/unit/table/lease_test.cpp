#include "table/lease.hpp"

#include <gtest/gtest.h>

namespace mortise::table {
namespace {

using namespace std::chrono_literals;

const OwnerToken kToken = OwnerToken::from_number(OwnerToken::kMax);
constexpr sys::TimePoint kExpiry{123'456'789us};

TEST(Lease, StatesExcludeEachOther) {
  const Lease held = Lease::held(kToken, kExpiry, 3, false);
  EXPECT_TRUE(held.is_held() && held.is_held_by(kToken) && !held.is_reserved());
  const Lease lowest = Lease::held(OwnerToken::from_number(OwnerToken::kMin), kExpiry, 0, true);
  EXPECT_TRUE(lowest.is_held() && !lowest.is_reserved());
  const Lease reserved = Lease::reserved(5);
  EXPECT_TRUE(reserved.is_reserved() && !reserved.is_held());
  const Lease free = Lease::free(5, true);
  EXPECT_TRUE(!free.is_reserved() && !free.is_held() && free.has_sleepers());
}

TEST(Lease, KeepsEveryPart) {
  const Lease lease = Lease::held(kToken, kExpiry, 65535, true);
  EXPECT_EQ(lease.expiry(), kExpiry);
  EXPECT_EQ(lease.binding(), 65535U);
  EXPECT_EQ(lease.token(), kToken.as_number());
  EXPECT_EQ(lease.with_sleepers(false), Lease::held(kToken, kExpiry, 65535, false));
  EXPECT_EQ(lease.with_binding(0), Lease::held(kToken, kExpiry, 0, true));
  EXPECT_EQ(lease.with_expiry(kExpiry + 1s), Lease::held(kToken, kExpiry + 1s, 65535, true));
  EXPECT_EQ(Lease::bound_to(65534), 65535U);
}

TEST(Lease, NeverEndsEarly) {
  const sys::TimePoint between = kExpiry + 1ns;
  EXPECT_EQ(Lease::held(kToken, between, 0, false).expiry(), kExpiry + 1us);
  EXPECT_EQ(Lease::held(kToken, sys::TimePoint::max(), 7, false).binding(), 7U);
}

TEST(Lease, ReleaseKeepsTheSleepersAndLeavesAStamp) {
  EXPECT_EQ(Lease::held(kToken, kExpiry, 3, true).released(), Lease::free(kToken.as_number(), true));
  EXPECT_EQ(Lease::held(kToken, kExpiry, 3, false).released(), Lease::free(kToken.as_number(), false));
}

struct alignas(16) AlignedWord {
  LeaseWord word{};
};

TEST(LeaseWord, SwapsOnlyWhatItExpects) {
  AlignedWord aligned;
  LeaseWord& word = aligned.word;
  const Lease held = Lease::held(kToken, kExpiry, 3, false);
  ASSERT_TRUE(word.swap(Lease{}, held));
  EXPECT_FALSE(word.swap(held.with_sleepers(true), Lease{}));
  EXPECT_FALSE(word.swap(held.with_binding(0), Lease{}));
  EXPECT_EQ(word.load(), held);
}

}  // namespace
}  // namespace mortise::table
