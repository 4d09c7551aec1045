#include "sys/robust_mutex.hpp"

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <unistd.h>

#include <cstring>

#include "support/child_process.hpp"
#include "support/shared.hpp"

namespace mortise::sys {
namespace {

using Outcome = RobustMutex::Outcome;
using Condition = RobustMutex::Condition;
using State = RobustMutex::Condition::State;
using test::Channel;
using test::ChildProcess;

class RobustMutexTest : public testing::Test {
 protected:
  RobustMutexTest() { EXPECT_TRUE(mutex().initialize()); }
  [[nodiscard]] RobustMutex& mutex() const { return *shared_; }

  void die_as_owner() const {
    ChildProcess child([this](Channel& parent) {
      parent.send(mutex().try_lock() == Outcome::busy ? "busy" : "locked");
      (void)parent.receive();
    });
    EXPECT_EQ(child.receive(), "locked");
    EXPECT_EQ(mutex().try_lock(), Outcome::busy);
    child.kill();
  }

 private:
  test::Shared<RobustMutex> shared_;
};

TEST_F(RobustMutexTest, LocksAndUnlocks) {
  EXPECT_EQ(mutex().try_lock(), Outcome::locked);
  mutex().unlock();
  EXPECT_EQ(mutex().try_lock(), Outcome::locked);
  mutex().unlock();
}

TEST_F(RobustMutexTest, RefusesItsOwner) {
  ASSERT_EQ(mutex().try_lock(), Outcome::locked);
  EXPECT_EQ(mutex().try_lock(), Outcome::unusable);
  mutex().unlock();
}

TEST_F(RobustMutexTest, TellsOfADeadOwnerUntilItIsConsistent) {
  die_as_owner();
  ASSERT_EQ(mutex().try_lock(), Outcome::owner_died);
  mutex().mark_consistent();
  mutex().unlock();
  ASSERT_EQ(mutex().try_lock(), Outcome::locked);
  mutex().unlock();
}

TEST_F(RobustMutexTest, TellsAgainWhenTheRepairerDiesToo) {
  die_as_owner();
  die_as_owner();
  ASSERT_EQ(mutex().try_lock(), Outcome::owner_died);
  mutex().mark_consistent();
  mutex().unlock();
}

TEST_F(RobustMutexTest, IsUnusableWhenUnlockedWithoutARepair) {
  die_as_owner();
  ASSERT_EQ(mutex().try_lock(), Outcome::owner_died);
  mutex().unlock();
  EXPECT_EQ(mutex().try_lock(), Outcome::unusable);
}

TEST_F(RobustMutexTest, ShowsItsConditionToWhoOnlyLooks) {
  EXPECT_EQ(mutex().condition(), Condition{State::free});
  ASSERT_EQ(mutex().try_lock(), Outcome::locked);
  EXPECT_EQ(mutex().condition(), (Condition{State::held, gettid()}));
  mutex().unlock();
  die_as_owner();
  EXPECT_EQ(mutex().condition(), Condition{State::owner_died});
  ASSERT_EQ(mutex().try_lock(), Outcome::owner_died);
  mutex().unlock();
  EXPECT_EQ(mutex().condition(), Condition{State::damaged}) << "it was unlocked without a repair";
}

TEST_F(RobustMutexTest, IsUnusableWhenAThreadThatIsNoneHasLockedIt) {
  // Beyond the largest thread id that Linux gives.
  for (const std::uint32_t word : {std::uint32_t{FUTEX_TID_MASK}, FUTEX_WAITERS}) {
    std::memcpy(static_cast<void*>(&mutex()), &word, sizeof(word));
    EXPECT_EQ(mutex().condition(), Condition{State::damaged});
    EXPECT_EQ(mutex().try_lock(), Outcome::unusable);
  }
}

TEST_F(RobustMutexTest, IsUnusableWhenItIsNoMutex) {
  for (const int byte : {0, 1, 0x55, 0xff}) {
    std::memset(static_cast<void*>(&mutex()), byte, sizeof(RobustMutex));
    EXPECT_EQ(mutex().condition(), Condition{State::damaged}) << byte;
    EXPECT_EQ(mutex().try_lock(), Outcome::unusable) << byte;
  }
}

TEST(RobustMutexImage, IsTheSameEveryTime) {
  EXPECT_EQ(RobustMutex::fresh_image(), RobustMutex::fresh_image());
}

}  // namespace
}  // namespace mortise::sys
