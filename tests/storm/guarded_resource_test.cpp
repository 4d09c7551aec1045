#include "guarded_resource.hpp"

#include <gtest/gtest.h>

namespace mortise::storm {
namespace {

using namespace std::chrono_literals;
using Visit = GuardedResource::Visit;

const Time kOver = now() - 1s;
const Time kInForce = now() + 1h;

struct GuardedResourceTest : testing::Test {
  GuardedResource resource;
};

TEST_F(GuardedResourceTest, EachVisitorIsAdmittedWhoseNumberIsHigherThanAllBefore) {
  for (const std::uint64_t fence : {1U, 2U, 1000U}) {
    EXPECT_EQ(resource.enter(fence, kInForce), Visit::admitted);
    EXPECT_EQ(resource.look(fence, kInForce), Visit::admitted);
  }
  EXPECT_EQ(resource.highest(), 1000U);
}

TEST_F(GuardedResourceTest, LateComerIsTurnedAway) {
  EXPECT_EQ(resource.enter(2, kInForce), Visit::admitted);
  EXPECT_EQ(resource.enter(1, kOver), Visit::turned_away);
  EXPECT_EQ(resource.highest(), 2U);
}

TEST_F(GuardedResourceTest, VisitorWhoOutstaysHisLeaseIsTurnedAwayWhenTheNextHasCome) {
  EXPECT_EQ(resource.enter(1, kOver), Visit::admitted);
  EXPECT_EQ(resource.look(1, kOver), Visit::admitted);
  EXPECT_EQ(resource.enter(2, kInForce), Visit::admitted);
  EXPECT_EQ(resource.look(1, kOver), Visit::turned_away);
}

TEST_F(GuardedResourceTest, NobodyComesBetweenWhileTheLeaseIsInForce) {
  EXPECT_EQ(resource.enter(1, kInForce), Visit::admitted);
  EXPECT_EQ(resource.enter(2, kInForce), Visit::admitted);
  EXPECT_EQ(resource.look(1, kInForce), Visit::impossible);
}

TEST_F(GuardedResourceTest, LeaseInForceHasAHigherNumberThanAllBefore) {
  EXPECT_EQ(resource.enter(2, kOver), Visit::admitted);
  EXPECT_EQ(resource.enter(1, kInForce), Visit::impossible);
}

TEST_F(GuardedResourceTest, NoNumberComesTwice) {
  EXPECT_EQ(resource.enter(1, kOver), Visit::admitted);
  EXPECT_EQ(resource.enter(1, kOver), Visit::impossible);
}

}  // namespace
}  // namespace mortise::storm
