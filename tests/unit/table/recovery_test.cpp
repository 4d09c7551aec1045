#include "table/recovery.hpp"

#include <gtest/gtest.h>

#include "small_table.hpp"
#include "support/child_process.hpp"

namespace mortise::table {
namespace {

using Outcome = LockTable::Outcome;
using test::Channel;
using test::ChildProcess;

class RecoveryTest : public testing::Test, protected SmallTable {
 protected:
  [[nodiscard]] std::string image() const {
    const auto* body = reinterpret_cast<const char*>(segment->body());
    return {body, segment->body_bytes()};
  }
  // A process that dies as the owner of the stripe's mutex, after `change`.
  void die_inside(const std::function<void()>& change) const {
    ChildProcess child([&](Channel&) {
      const ShapeLock lock(*segment, stripe(), 1, {});
      change();
      _exit(lock.state() == ShapeLock::State::locked ? 0 : 1);
    });
    ASSERT_EQ(child.wait(), 0);
  }
  // What a process leaves that died in the middle of moving a key into the slot of `key`.
  void reserve(const LockKey& key) const {
    Slot& slot = slot_of(key);
    const Lease before = slot.lease.load();
    slot.lease.swap(before, Lease::reserved(12345, before.term));
    slot.key()[0].store(0x7e7e7e7e7e7e7e7e);
  }
  // A key that the table does not know, other than `another`, with this home.
  [[nodiscard]] LockKey key_at_home(unsigned home, const LockKey& another = "another") const {
    for (int i = 0;; ++i) {
      const LockKey key("key:" + std::to_string(i));
      if (key != another && place(key).home == home && !stripe().find(place(key), key)) return key;
    }
  }
};

TEST_F(RecoveryTest, DoesNothingToAWholeStripe) {
  for (const auto& key : numbered_keys(100)) touch(LockKey(key));
  ASSERT_EQ(acquire("held", OwnerToken::generate()).outcome, Outcome::granted);
  const std::string before = image();
  repair(stripe());
  EXPECT_EQ(image(), before);
}

TEST_F(RecoveryTest, WipesAReservedSlotAndKeepsItsFences) {
  touch("other");
  std::uint64_t last = 0;
  for (int i = 0; i < 10; ++i) last = touch("torn");
  Slot& slot = slot_of("torn");
  die_inside([this] { reserve("torn"); });
  const LockKey elsewhere = key_at_home((place("torn").home + kSlotsPerStripe / 2) % kSlotsPerStripe);
  EXPECT_NE(touch(elsewhere), 0U) << "the next process that needs the mutex repairs the stripe";
  EXPECT_FALSE(slot.lease.load().is_reserved());
  EXPECT_EQ(slot.identity.load(), 0U);
  EXPECT_GT(touch("torn"), last);
  EXPECT_NE(touch("other"), 0U);
}

// The slot that it lived in is not the first that it may live in, so it comes back in another one.
TEST_F(RecoveryTest, AKeyThatComesBackInAnotherSlotKeepsItsFences) {
  const unsigned home = 7;
  const LockKey first = key_at_home(home);
  const LockKey second = key_at_home(home, first);
  touch(first);
  std::uint64_t last = 0;
  for (int i = 0; i < 10; ++i) last = touch(second);
  for (const LockKey& torn : {first, second}) {
    die_inside([&] { reserve(torn); });
    EXPECT_NE(touch(key_at_home(home + kSlotsPerStripe / 2, torn)), 0U) << "whoever adds a key repairs";
  }
  EXPECT_GT(touch(second), last);
}

TEST_F(RecoveryTest, MakesTheTagsAnew) {
  const auto keys = numbered_keys(40);
  for (const auto& key : keys) touch(LockKey(key));
  die_inside([this] {
    for (auto& word : stripe().header().tags) word.store(0x0102030405060708);
  });
  touch("fresh");
  for (const auto& key : keys) EXPECT_TRUE(stripe().find(place(LockKey(key)), LockKey(key))) << key;
}

TEST_F(RecoveryTest, ADeathInTheMiddleOfARepairIsRepaired) {
  touch("torn");
  die_inside([this] { reserve("torn"); });
  ChildProcess repairer([this](Channel&) {
    if (stripe().header().mutex.try_lock() != sys::RobustMutex::Outcome::owner_died) _exit(1);
    repair(stripe());
  });
  ASSERT_EQ(repairer.wait(), 0);
  EXPECT_NE(touch("fresh"), 0U);
  EXPECT_EQ(stripe().header().mutex.try_lock(), sys::RobustMutex::Outcome::locked);
  stripe().header().mutex.unlock();
}

TEST_F(RecoveryTest, LeasesOfOthersAreLeftAlone) {
  const OwnerToken owner = OwnerToken::generate();
  ASSERT_EQ(acquire("held", owner).outcome, Outcome::granted);
  touch("torn");
  const Lease lease = slot_of("held").lease.load();
  die_inside([this] { reserve("torn"); });
  touch("fresh");
  EXPECT_EQ(slot_of("held").lease.load(), lease);
  EXPECT_TRUE(table.release("held", owner));
}

}  // namespace
}  // namespace mortise::table
