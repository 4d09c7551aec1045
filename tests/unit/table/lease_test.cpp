#include "table/lease.hpp"

#include <gtest/gtest.h>

namespace mortise::table {
namespace {

using namespace std::chrono_literals;

const OwnerToken kToken = OwnerToken::from_number(OwnerToken::kMax);
constexpr sys::TimePoint kExpiry{std::chrono::nanoseconds(std::int64_t{123'456} << 16U)};  // a whole tick
constexpr std::uint64_t kFence = 1'000'007;

TEST(Lease, StatesExcludeEachOther) {
  const Lease held = Lease::held(kToken, kExpiry, 3, kFence, false);
  EXPECT_TRUE(held.is_held() && held.is_held_by(kToken) && !held.is_reserved());
  const Lease lowest = Lease::held(OwnerToken::from_number(OwnerToken::kMin), kExpiry, 0, kFence, true);
  EXPECT_TRUE(lowest.is_held() && !lowest.is_reserved());
  const Lease reserved = Lease::reserved(5, kFence);
  EXPECT_TRUE(reserved.is_reserved() && !reserved.is_held());
  const Lease free = Lease::free(5, kFence, true);
  EXPECT_TRUE(!free.is_reserved() && !free.is_held() && free.has_sleepers());
}

TEST(Lease, KeepsEveryPart) {
  const Lease lease = Lease::held(kToken, kExpiry, 65535, kFence, true);
  EXPECT_EQ(lease.expiry(), kExpiry);
  EXPECT_EQ(lease.binding(), 65535U);
  EXPECT_EQ(lease.token(), kToken.as_number());
  EXPECT_EQ(lease.with_sleepers(false), Lease::held(kToken, kExpiry, 65535, kFence, false));
  EXPECT_EQ(lease.with_binding(0), Lease::held(kToken, kExpiry, 0, kFence, true));
  EXPECT_EQ(lease.with_expiry(kExpiry + 1h), Lease::held(kToken, kExpiry + 1h, 65535, kFence, true));
  EXPECT_EQ(Lease::bound_to(65534), 65535U);
}

TEST(Lease, TellsItsFenceByAnyMarkThatIsNotFarBehind) {
  const Lease held = Lease::held(kToken, kExpiry, 65535, kFence, true);
  for (const Lease lease : {held, held.with_expiry(kExpiry + 1s), held.with_binding(0), held.released(),
                            Lease::free(5, kFence, true), Lease::reserved(5, kFence),
                            Lease::reserved(5, held.term), Lease::reserved(5, kFence).wiped()}) {
    for (std::uint64_t behind = 0; behind <= Lease::kMostBehind; ++behind)
      EXPECT_EQ(lease.fence(kFence - behind), kFence) << behind;
    EXPECT_NE(lease.fence(kFence - Lease::kMostBehind - 1), kFence);
  }
}

TEST(Lease, NeverEndsEarlyAndNotATickTooLate) {
  for (const auto between : {1ns, Lease::kTick - 1ns}) {
    EXPECT_EQ(Lease::held(kToken, kExpiry + between, 0, kFence, false).expiry(), kExpiry + Lease::kTick);
  }
  const Lease last = Lease::held(kToken, sys::TimePoint::max(), 7, kFence, false);
  EXPECT_EQ(last.binding(), 7U);
  EXPECT_GT(last.expiry(), sys::TimePoint(24h * 365 * 9));
}

TEST(Lease, ReleaseKeepsTheSleepersAndLeavesAStamp) {
  for (const bool sleepers : {true, false}) {
    EXPECT_EQ(Lease::held(kToken, kExpiry, 3, kFence, sleepers).released(),
              Lease::free(kToken.as_number(), kFence, sleepers));
  }
  const OwnerToken another = OwnerToken::from_number(kToken.as_number() - 1);
  EXPECT_NE(Lease::free(kToken.as_number(), kFence, true), Lease::free(another.as_number(), kFence, true));
}

struct alignas(16) AlignedWord {
  LeaseWord word{};
};

TEST(LeaseWord, SwapsOnlyWhatItExpects) {
  AlignedWord aligned;
  LeaseWord& word = aligned.word;
  const Lease held = Lease::held(kToken, kExpiry, 3, kFence, false);
  ASSERT_TRUE(word.swap(Lease{}, held));
  EXPECT_FALSE(word.swap(held.with_sleepers(true), Lease{}));
  EXPECT_FALSE(word.swap(held.with_binding(0), Lease{}));
  EXPECT_EQ(word.load(), held);
}

}  // namespace
}  // namespace mortise::table
