#include "table/lock_table.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <stop_token>
#include <thread>

#include "small_table.hpp"
#include "support/child_process.hpp"
#include "support/stopwatch.hpp"
#include "table/waiter.hpp"

namespace mortise::table {
namespace {

using namespace std::chrono_literals;
using Outcome = LockTable::Outcome;
using test::Channel;
using test::ChildProcess;

class LockTableTest : public testing::Test, protected SmallTable {
 protected:
  // A child that holds the key until it is killed or told to go.
  [[nodiscard]] ChildProcess holder(const std::string& key) {
    ChildProcess child([this, key](Channel& parent) {
      const auto attempt = acquire(LockKey(key), OwnerToken::generate());
      parent.send(attempt.outcome == Outcome::granted ? "granted" : "refused");
      (void)parent.receive();
    });
    EXPECT_EQ(child.receive(), "granted");
    return child;
  }
  // A child that was stopped while it held the stripe's mutex. The key "known" is known.
  [[nodiscard]] ChildProcess stopped_shaper() {
    ChildProcess child([this](Channel& parent) {
      touch("known");
      const ShapeLock lock(*segment, stripe(), Lease::bound_to(*segment->processes().own()), {});
      parent.send("inside");
      (void)parent.receive();
    });
    EXPECT_EQ(child.receive(), "inside");
    child.stop();
    return child;
  }
};

TEST_F(LockTableTest, AKnownKeyTakesNoMutex) {
  touch("k");
  ASSERT_EQ(stripe().header().mutex.try_lock(), sys::RobustMutex::Outcome::locked);
  EXPECT_NE(touch("k"), 0U);
  EXPECT_EQ(acquire("k", OwnerToken::generate()).outcome, Outcome::granted);
  EXPECT_EQ(acquire("k", OwnerToken::generate()).outcome, Outcome::busy);
  stripe().header().mutex.unlock();
}

TEST_F(LockTableTest, AStoppedShaperIsNamedAndCostsTheOthersTheirKnownKeysNothing) {
  touch("known");
  ChildProcess shaper = stopped_shaper();
  EXPECT_NE(touch("known"), 0U);
  const auto attempt = acquire("new", OwnerToken::generate());
  ASSERT_EQ(attempt.outcome, Outcome::stalled);
  EXPECT_EQ(table.process(attempt.shaper).pid, shaper.pid());
  shaper.kill();
  EXPECT_NE(touch("new"), 0U);
}

TEST_F(LockTableTest, WhoLosesARaceForAKnownKeyNeedsNoMutex) {
  const ChildProcess shaper = stopped_shaper();
  touch("known");
  std::atomic<unsigned> refused = 0;
  const auto contend = [&](const std::stop_token& stop) {
    constexpr std::chrono::nanoseconds kNoWait{0};
    const LockKey key("known");
    while (!stop.stop_requested()) {
      const OwnerToken owner = OwnerToken::generate();
      StripeRef::Found found;
      if (table.take_free(key, owner, 60s, found) == 0) {
        ++refused;
        const auto outcome =
            table.acquire_from(found, key, owner, 60s, kNoWait, LockTable::Turn::now).outcome;
        ASSERT_TRUE(outcome == Outcome::granted || outcome == Outcome::busy);
      }
      table.release(key, owner);
    }
  };
  const std::jthread one(contend);
  const std::jthread other(contend);
  constexpr unsigned kEnough = 1'000'000;
  while (refused < kEnough && !HasFailure()) std::this_thread::yield();
}

TEST_F(LockTableTest, WhoWaitsBehindAStoppedShaperHearsAStopRequestAndKeepsItsDeadline) {
  ChildProcess shaper = stopped_shaper();
  std::stop_source source;
  std::jthread stopper([&source] {
    std::this_thread::sleep_for(100ms);
    source.request_stop();
  });
  const test::Stopwatch watch;
  const auto stopped = acquire_within(table, "new", OwnerToken::generate(), 60s,
                                      {.timeout = 1h, .retry_delay = 50ms, .stop = source.get_token()});
  EXPECT_EQ(stopped.outcome, Outcome::stalled);
  EXPECT_LT(watch.elapsed(), 100ms + test::kSlack);

  const test::Stopwatch second_watch;
  const auto late =
      acquire_within(table, "new", OwnerToken::generate(), 60s, {.timeout = 300ms, .retry_delay = 50ms});
  EXPECT_EQ(late.outcome, Outcome::stalled);
  EXPECT_THAT(second_watch.elapsed(), test::IsWithin(300ms, 300ms + test::kSlack));
}

TEST_F(LockTableTest, FullIsFullUntilALeaseEnds) {
  const auto keys = numbered_keys(kSlotsPerStripe);
  const OwnerToken owner = OwnerToken::generate();
  for (const auto& key : keys) ASSERT_EQ(acquire(LockKey(key), owner).outcome, Outcome::granted);
  EXPECT_EQ(acquire("one more", owner).outcome, Outcome::full);
  table.release(LockKey(keys[17]), owner);
  EXPECT_EQ(acquire("one more", owner).outcome, Outcome::granted);
  EXPECT_EQ(acquire("and another", owner).outcome, Outcome::full);
}

TEST_F(LockTableTest, ExpiredAndOrphanedLeasesMakeRoom) {
  const auto keys = numbered_keys(kSlotsPerStripe - 2);
  const OwnerToken owner = OwnerToken::generate();
  for (const auto& key : keys) ASSERT_EQ(acquire(LockKey(key), owner).outcome, Outcome::granted);
  ASSERT_EQ(acquire("expires", owner, 1ms).outcome, Outcome::granted);
  ChildProcess child = holder("orphaned");
  const sys::TimePoint expired = sys::Clock::now() + 2ms;
  while (sys::Clock::now() < expired) {
  }
  EXPECT_EQ(acquire("one more", owner).outcome, Outcome::granted);
  EXPECT_EQ(acquire("another", owner).outcome, Outcome::full);
  child.kill();
  EXPECT_EQ(acquire("another", owner).outcome, Outcome::granted);
}

TEST_F(LockTableTest, AKeyWithRoomStaysKnown) {
  const auto keys = numbered_keys(kSlotsPerStripe);
  for (const auto& key : keys) touch(LockKey(key));
  for (const auto& key : keys) EXPECT_TRUE(stripe().find(place(LockKey(key)), LockKey(key))) << key;
}

TEST_F(LockTableTest, FencesOfAKeyThatStaysGoUpByOne) {
  std::uint64_t last = touch("k");
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t fence = touch("k");
    ASSERT_EQ(fence, last + 1);
    ASSERT_EQ(slot_of("k").last_fence(), fence);
    last = fence;
  }
}

TEST_F(LockTableTest, FencesTellHowManyGrantsThereWereToAllThreads) {
  constexpr unsigned kThreads = 4;
  constexpr unsigned kGrants = 100'000;
  const std::uint64_t first = touch("k");
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      std::uint64_t last = first;
      for (unsigned grants = 0; grants < kGrants;) {
        const std::uint64_t fence = touch("k");
        if (fence == 0) continue;
        ++grants;
        if (fence <= last) ADD_FAILURE() << fence << " after " << last;
        last = fence;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(touch("k"), first + kThreads * kGrants + 1);
}

TEST_F(LockTableTest, FencesOfAKeyRiseOverEvictions) {
  std::map<std::string, std::uint64_t> last;
  const auto keys = numbered_keys(200);
  for (int round = 0; round < 50; ++round) {
    for (const auto& key : keys) {
      const std::uint64_t fence = touch(LockKey(key));
      EXPECT_GT(fence, last[key]) << key;
      last[key] = fence;
    }
    for (int i = 0; i < round; ++i) last[keys[7]] = touch(LockKey(keys[7]));
  }
}

TEST_F(LockTableTest, ForgetsTheLeasesOfTheDeadBeforeTheirSlotIsUsedAgain) {
  std::vector<std::string> keys;
  for (std::uint32_t i = 0; i < kProcesses; ++i) {
    keys.push_back("orphan:" + std::to_string(i));
    holder(keys.back()).kill();
  }
  // Every process slot has been used: the next process takes over one, and must not be taken for its former
  // owner.
  ChildProcess next = holder("next");
  for (const auto& key : keys) EXPECT_EQ(table.holder(LockKey(key)), std::nullopt) << key;
}

TEST_F(LockTableTest, TooManyProcessesIsAnOutcome) {
  std::vector<ChildProcess> children;
  for (std::uint32_t i = 0; i < kProcesses; ++i) children.push_back(holder("k" + std::to_string(i)));
  EXPECT_EQ(acquire("k", OwnerToken::generate()).outcome, Outcome::not_attached);
}

TEST_F(LockTableTest, ASleepersBitIsTakenAwayWhenNobodySleeps) {
  const OwnerToken owner = OwnerToken::generate();
  ASSERT_EQ(acquire("k", owner).outcome, Outcome::granted);
  const auto busy = acquire("k", OwnerToken::generate());
  LockTable::sleep(*busy.slot, busy.seen, nullptr, sys::Clock::now());
  EXPECT_TRUE(slot_of("k").lease.load().has_sleepers());
  table.release("k", owner);
  EXPECT_FALSE(slot_of("k").lease.load().has_sleepers());
}

TEST_F(LockTableTest, ASleepersBitPassesOverABargingHolder) {
  const OwnerToken owner = OwnerToken::generate();
  ASSERT_EQ(acquire("k", owner, 1ms).outcome, Outcome::granted);
  Slot& slot = slot_of("k");
  const Lease expired = slot.lease.load();
  ASSERT_TRUE(slot.lease.swap(expired, expired.with_sleepers(true)));
  while (sys::Clock::now() < expired.expiry()) {
  }
  ASSERT_EQ(acquire("k", OwnerToken::generate()).outcome, Outcome::granted);
  EXPECT_TRUE(slot.lease.load().has_sleepers());
}

TEST_F(LockTableTest, AnExtendThatShortensWakesTheSleepers) {
  const OwnerToken owner = OwnerToken::generate();
  ASSERT_EQ(acquire("k", owner, 1h).outcome, Outcome::granted);
  ChildProcess waiter([this](Channel& parent) {
    const auto busy = acquire("k", OwnerToken::generate());
    parent.send("asleep");
    LockTable::sleep(*busy.slot, busy.seen, nullptr, busy.seen.expiry());
  });
  ASSERT_EQ(waiter.receive(), "asleep");
  while (!slot_of("k").lease.load().has_sleepers()) std::this_thread::yield();
  EXPECT_TRUE(table.extend("k", owner, 2h));
  EXPECT_TRUE(slot_of("k").lease.load().has_sleepers());
  EXPECT_TRUE(table.extend("k", owner, 1h));
  EXPECT_FALSE(slot_of("k").lease.load().has_sleepers());
  EXPECT_EQ(waiter.wait(), 0);
}

TEST_F(LockTableTest, EvictionWakesWhoSleepsForTheOldKey) {
  ChildProcess orphan = holder("k");
  ChildProcess waiter([this](Channel& parent) {
    const auto busy = acquire("k", OwnerToken::generate());
    parent.send("asleep");
    LockTable::sleep(*busy.slot, busy.seen, nullptr, sys::TimePoint::max());
  });
  ASSERT_EQ(waiter.receive(), "asleep");
  while (!slot_of("k").lease.load().has_sleepers()) std::this_thread::yield();
  orphan.kill();
  const OwnerToken owner = OwnerToken::generate();
  for (const auto& key : numbered_keys(kSlotsPerStripe)) {
    ASSERT_EQ(acquire(LockKey(key), owner).outcome, Outcome::granted);
  }
  EXPECT_EQ(waiter.wait(), 0);
}

}  // namespace
}  // namespace mortise::table
