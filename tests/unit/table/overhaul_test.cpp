#include "table/overhaul.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <tuple>

#include "small_table.hpp"
#include "support/child_process.hpp"

namespace mortise::table {
namespace {

using namespace std::chrono_literals;
using test::Channel;
using test::ChildProcess;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A table that another process has filled, and then left.
class OverhaulTest : public testing::Test, protected SmallTable {
 protected:
  OverhaulTest() {
    in_a_process([this] {
      for (const auto& key : numbered_keys(20)) {
        for (int grant = 0; grant < 5; ++grant) touch(LockKey(key));
      }
      acquire("handed over", handed_over, 1h);
      table.unbind("handed over", handed_over);
      acquire("of the dead", OwnerToken::generate(), 1h);
    });
    for (const auto& key : numbered_keys(20)) fences[key] = slot_of(LockKey(key)).last_fence();
  }
  static void in_a_process(const std::function<void()>& work) {
    ChildProcess child([&](Channel&) { work(); });
    ASSERT_EQ(child.wait(), 0);
  }
  static void set(Slot& slot, Lease lease) { ASSERT_TRUE(slot.lease.swap(slot.lease.load(), lease)); }
  static void reserve(Slot& slot) { set(slot, Lease::reserved(4711, slot.lease.load().term)); }

  Overhaul repair_all() {
    const segment::Exclusion exclusion(*segment);
    EXPECT_TRUE(exclusion.in_force()) << std::strerror(exclusion.error());
    return overhaul(*segment, exclusion);
  }
  // Sound, and everything can be used, with higher numbers than before.
  void expect_usable() {
    EXPECT_THAT(check(*segment), IsEmpty());
    EXPECT_TRUE(table.holder("handed over")->is_held_by(handed_over));
    in_a_process([&] {
      if (!table.release("handed over", handed_over)) _exit(2);
      for (const auto& key : numbered_keys(100)) {
        if (touch(LockKey(key)) <= fences[key]) _exit(3);
      }
    });
  }
  OwnerToken handed_over = OwnerToken::generate();
  std::map<std::string, std::uint64_t> fences;
};

TEST_F(OverhaulTest, OfASoundTableEndsTheLeasesOfTheDeadAndNothingElse) {
  const Overhaul first = repair_all();
  EXPECT_THAT(first.done, ElementsAre(HasSubstr("leases of dead processes that were ended: 1")));
  EXPECT_FALSE(table.holder("of the dead"));
  EXPECT_THAT(repair_all().done, IsEmpty());
  const auto keys = numbered_keys(20);
  for (const auto& key : keys) EXPECT_TRUE(stripe().find(place(LockKey(key)), LockKey(key))) << key;
  EXPECT_TRUE(table.holder("handed over")->is_held_by(handed_over));
}

TEST_F(OverhaulTest, NeedsTheSegmentForItself) {
  ChildProcess user([this](Channel& parent) {
    acquire("k", OwnerToken::generate());
    parent.send("attached");
    std::ignore = parent.receive();
  });
  ASSERT_EQ(user.receive(), "attached");
  EXPECT_EQ(segment::Exclusion(*segment).error(), EAGAIN);
  user.kill();
  EXPECT_TRUE(segment::Exclusion(*segment).in_force());
}

TEST_F(OverhaulTest, KeepsNewUsersAwayUntilItIsDone) {
  const auto attach = [this] {
    ChildProcess user([this](Channel& parent) {
      const auto attempt = acquire("k", OwnerToken::generate());
      parent.send(std::to_string(attempt.outcome == LockTable::Outcome::granted ? 0 : attempt.error));
    });
    return user.receive();
  };
  {
    const segment::Exclusion exclusion(*segment);
    EXPECT_EQ(attach(), std::to_string(EUSERS));
    EXPECT_FALSE(segment::Exclusion(*segment).in_force()) << "there is one repair at a time";
  }
  EXPECT_EQ(attach(), "0");
}

TEST_F(OverhaulTest, MendsWhatCheckFinds) {
  Stripe& header = stripe().header();
  std::memset(static_cast<void*>(&header.mutex), 0x7f, sizeof(header.mutex));
  slot_of("key:0").key()[0] ^= 1U;
  reserve(slot_of("key:1"));
  slot_of("key:2").fence_mark = 7;
  slot_of("key:3").fence_mark = ~std::uint64_t{0};
  set(slot_of("key:4"),
      Lease::held(OwnerToken::generate(), sys::TimePoint::max(), Lease::kUnbound, fences["key:4"], false));
  set(slot_of("key:5"),
      Lease::held(OwnerToken::generate(), sys::Clock::now() + 1h, 4711, fences["key:5"], true));
  slot_of("of the dead").identity = 0;
  for (auto& word : header.tags) word = 0;
  header.floor = 3;
  const Overhaul result = repair_all();
  EXPECT_THAT(result.left, IsEmpty());
  for (const char* sentence :
       {"its mutex is damaged, so that no key can be added; it was made anew",
        "not the one of its hash; the slot was wiped", "ends later than any lease may; the"}) {
    EXPECT_THAT(result.done, Contains(HasSubstr(sentence)));
  }
  expect_usable();
}

TEST_F(OverhaulTest, KeepsOfTwoTheKeyThatWasGrantedLast) {
  Slot& slot = slot_of("key:7");
  unsigned index = 0;
  while (stripe().header().tag(index) != 0) ++index;
  Slot& copy = stripe().slot(index);
  copy.key()[0] = slot.key()[0].load();
  copy.fence_mark = slot.last_fence() + 1000;
  copy.identity = slot.identity.load();
  fences["key:7"] = copy.last_fence();
  EXPECT_THAT(repair_all().left, IsEmpty());
  EXPECT_EQ(slot.identity, 0U);
  EXPECT_EQ(&slot_of("key:7"), &copy);
  expect_usable();
}

TEST_F(OverhaulTest, TakesOverFromADeadProcessThatAddedAKey) {
  in_a_process([this] {
    if (stripe().header().mutex.try_lock() != sys::RobustMutex::Outcome::locked) _exit(1);
    reserve(slot_of("key:9"));
  });
  EXPECT_THAT(repair_all().done, Contains(HasSubstr("died while it added a key")));
  EXPECT_FALSE(stripe().find(place("key:9"), "key:9"));
  expect_usable();
}

TEST_F(OverhaulTest, FreesAMutexThatLooksLockedBySomebodyWhoIsNotAttached) {
  const auto thread = static_cast<std::uint32_t>(getpid());
  std::memcpy(static_cast<void*>(&stripe().header().mutex), &thread, sizeof(thread));
  EXPECT_THAT(repair_all().done, Contains(HasSubstr("mutexes locked by nobody that were made anew: 1")));
  expect_usable();
}

// Whatever somebody wrote over the body, a repair makes a sound table of it that can be used.
TEST_F(OverhaulTest, MakesASoundTableOfAnyBytes) {
  constexpr unsigned kRounds = 300;
  constexpr unsigned kBetweenUses = 7;  // a process each time
  std::minstd_rand random(1);
  const std::string whole(reinterpret_cast<const char*>(segment->body()), segment->body_bytes());
  for (unsigned round = 0; round < kRounds; ++round) {
    std::memcpy(segment->body(), whole.data(), whole.size());
    const std::size_t edits = round % 3 == 0 ? whole.size() : std::size_t{1} << random() % 14;
    for (std::size_t i = 0; i < edits; ++i)
      segment->body()[random() % whole.size()] = static_cast<std::byte>(random() >> 8U);
    const Overhaul result = repair_all();
    std::string left;
    for (const Flaw& flaw : result.left) left += describe(flaw) + "\n";
    ASSERT_EQ(left, "") << "round " << round;
    if (round % kBetweenUses != 0) continue;
    in_a_process([this] {
      for (const std::size_t size : {5U, 100U, 1000U}) {
        const auto attempt = acquire(LockKey(std::string(size, 'n')), OwnerToken::generate());
        if (attempt.outcome != LockTable::Outcome::granted) _exit(static_cast<int>(attempt.outcome));
      }
    });
  }
}

}  // namespace
}  // namespace mortise::table
