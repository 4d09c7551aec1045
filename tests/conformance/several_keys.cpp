// lock_all: several keys at once, all or nothing.
#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "conformance/conformance.hpp"
#include "support/eventually.hpp"

namespace mortise::conformance {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::IsWithin;
using test::kSlack;
using test::Stopwatch;

// One of the leases that were handed over together.
Lock one_of(const std::string& text, int index, const std::shared_ptr<LockStore>& store) {
  std::istringstream leases(text);
  std::string lease;
  for (int i = 0; i <= index; ++i) leases >> lease;
  return restore_lock(lease, store);
}

TEST_P(Conformance, LockAll_AllAreHeldUntilTheRelease) {
  LockGroup all = group_of("abc");
  EXPECT_EQ(held_of("abc"), "");
  ASSERT_TRUE(all.acquire_immediately());
  EXPECT_EQ(held_of("abc"), "abc");
  EXPECT_FALSE(all.is_expired());
  EXPECT_NO_THROW(all.ensure_held());
  EXPECT_TRUE(all.release());
  EXPECT_EQ(held_of("abc"), "");
  EXPECT_FALSE(all.release());
  EXPECT_THROW(all.ensure_held(), LockNotHeldError);
}

TEST_P(Conformance, LockAll_NoneIsHeldWhenOneIsRefused) {
  for (const char* taken : {"a", "b", "c"}) {
    Lock other = handle(taken);
    ASSERT_TRUE(other.acquire_immediately());
    LockGroup all = group_of("abc");
    EXPECT_FALSE(all.acquire_immediately());
    EXPECT_EQ(held_of("abc"), taken);
    const Stopwatch watch;
    EXPECT_FALSE(all.acquire({.timeout = 50ms, .retry_delay = 20s}));
    EXPECT_THAT(watch.elapsed(), IsWithin(50ms, 50ms + kSlack));
    EXPECT_EQ(held_of("abc"), taken);
    EXPECT_FALSE(all.release());
  }
}

TEST_P(Conformance, LockAll_AreSortedAndCountOnce) {
  LockGroup all = group_of("cabac");
  ASSERT_EQ(all.locks().size(), 3U);
  EXPECT_EQ(all.locks()[0].key(), LockKey("a"));
  EXPECT_EQ(all.locks()[1].key(), LockKey("b"));
  EXPECT_EQ(all.locks()[2].key(), LockKey("c"));
  ASSERT_TRUE(all.acquire_immediately());
  EXPECT_EQ(held_of("abc"), "abc");
  for (const Lock& each : all.locks()) EXPECT_GT(each.fencing_token(), 0U);
}

TEST_P(Conformance, C01_LockAll_GroupIsNotGrantedItsOwnKeysAndKeepsThem) {
  LockGroup all = group_of("abc");
  ASSERT_TRUE(all.acquire_immediately());
  EXPECT_FALSE(all.acquire_immediately());
  EXPECT_FALSE(all.acquire({.timeout = 20ms}));
  EXPECT_NO_THROW(all.ensure_held());
  EXPECT_TRUE(all.release());
}

TEST_P(Conformance, C08_LockAll_AreExtendedTogether) {
  LockGroup all = group_of("abc", 20s);
  EXPECT_THROW(all.extend(), LockNotHeldError);
  ASSERT_TRUE(all.acquire_immediately());
  all.extend(60s);
  for (const char* key : {"a", "b", "c"})
    EXPECT_THAT(handle(key).remaining_time(), testing::Optional(IsWithin(60s - kSlack, 60s)));
  all.extend();
  for (const char* key : {"a", "b", "c"})
    EXPECT_THAT(handle(key).remaining_time(), testing::Optional(IsWithin(20s - kSlack, 20s)));
}

TEST_P(Conformance, C11_LockAll_RunHoldsAllAndReleasesAll) {
  auto [ran, inside] = group_of("abc").run([&] { return held_of("abc"); });
  EXPECT_TRUE(ran);
  EXPECT_EQ(inside, "abc");
  EXPECT_EQ(held_of("abc"), "");
  EXPECT_THROW(std::ignore = group_of("abc").run([]() -> int { throw std::runtime_error("mine"); }),
               std::runtime_error);
  EXPECT_EQ(held_of("abc"), "");
  auto [ran_too] = group_of("abc").run_immediately([](LockGroup& inner) { inner.extend(60s); });
  EXPECT_TRUE(ran_too);
}

TEST_P(Conformance, C12_LockAll_FunctionIsNotCalledUnlessAllAreGranted) {
  Lock other = handle("c");
  ASSERT_TRUE(other.acquire_immediately());
  bool called = false;
  EXPECT_FALSE(group_of("abc").run([&] { called = true; }));
  EXPECT_FALSE(group_of("abc").run([&] { called = true; }, {.timeout = 20ms}));
  EXPECT_FALSE(called);
}

TEST_P(Conformance, C14_LockAll_WaiterIsGrantedWhenTheLastOneIsFree) {
  Lock first = handle("a");
  Lock last = handle("c");
  ASSERT_TRUE(first.acquire_immediately() && last.acquire_immediately());
  Stopwatch since_release;
  const std::jthread releasing([&] {
    std::this_thread::sleep_for(30ms);
    EXPECT_TRUE(first.release());
    std::this_thread::sleep_for(30ms);
    EXPECT_TRUE(is_free("a")) << "it waits for one key without holding another";
    since_release = Stopwatch();
    EXPECT_TRUE(last.release());
  });
  LockGroup all = group_of("abc");
  ASSERT_TRUE(all.acquire(patiently()));
  EXPECT_LT(since_release.elapsed(), kSlack);
  EXPECT_EQ(held_of("abc"), "abc");
}

TEST_P(Conformance, C14_LockAll_StopEndsTheWaitAndLeavesNothing) {
  Lock other = handle("b");
  ASSERT_TRUE(other.acquire_immediately());
  std::stop_source stop;
  const std::jthread stopping([&] {
    std::this_thread::sleep_for(30ms);
    stop.request_stop();
  });
  const Stopwatch watch;
  EXPECT_FALSE(group_of("abc").acquire(patiently(stop.get_token())));
  EXPECT_LT(watch.elapsed(), 30ms + kSlack);
  EXPECT_EQ(held_of("abc"), "b");
}

TEST_P(Conformance, C16_LockAll_AreReleasedAtTheEndOfTheHandle) {
  {
    LockGroup all = group_of("abc");
    ASSERT_TRUE(all.acquire_immediately());
    const LockGroup moved = std::move(all);
    EXPECT_EQ(held_of("abc"), "abc");
  }
  EXPECT_EQ(held_of("abc"), "");
  {
    LockGroup all = group_of("abc", 300ms);
    ASSERT_TRUE(all.acquire_immediately());
    EXPECT_TRUE(all.detach());
  }
  EXPECT_EQ(held_of("abc"), "abc");
  EXPECT_TRUE(eventually([&] { return held_of("abc").empty(); }));
}

TEST_P(Conformance, C20_LockAll_AreHandedOverAsOneText) {
  LockGroup all = group_of("abc");
  EXPECT_THROW(std::ignore = all.serialize(), LockNotHeldError);
  std::string text;
  {
    ASSERT_TRUE(all.acquire_immediately());
    LockGroup giving = std::move(all);
    text = giving.serialize();
  }
  LockGroup theirs = restore_lock_all(text, connect());
  ASSERT_EQ(theirs.locks().size(), 3U);
  EXPECT_NO_THROW(theirs.ensure_held());
  EXPECT_EQ(theirs.serialize(), text);
  theirs.extend(60s);
  EXPECT_EQ(held_of("abc"), "abc");
  EXPECT_TRUE(theirs.release());
  EXPECT_EQ(held_of("abc"), "");
  EXPECT_TRUE(restore_lock_all(text, connect()).is_expired());
}

TEST_P(Conformance, LockAll_OneLossIsTheLossOfAll) {
  for (const int index : {0, 1, 2}) {
    LockGroup all = group_of("abc");
    ASSERT_TRUE(all.acquire_immediately());
    ASSERT_TRUE(one_of(all.serialize(), index, connect()).release());
    EXPECT_TRUE(all.is_expired());
    EXPECT_THROW(all.ensure_held(), LockNotHeldError);
    EXPECT_THROW(all.extend(), LockNotHeldError);
    EXPECT_FALSE(all.release());
    EXPECT_EQ(held_of("abc"), "") << "the others are released all the same";
  }
}

TEST_P(Conformance, LockAll_OneLossStopsTheLostToken) {
  for (const int index : {0, 1, 2}) {
    LockGroup all = group_of("abc", 900ms);
    ASSERT_TRUE(all.acquire_immediately());
    const std::string text = all.serialize();
    const std::stop_token lost = all.lost_token();
    EXPECT_FALSE(lost.stop_requested());
    const Stopwatch since_loss;
    ASSERT_TRUE(one_of(text, index, connect()).release());
    ASSERT_TRUE(eventually([&] { return lost.stop_requested(); }));
    EXPECT_LT(since_loss.elapsed(), 300ms + kSlack);
    EXPECT_FALSE(all.release());
  }
}

TEST_P(Conformance, LockAll_LostTokenIsNotStoppedByTheOwnReleaseAndIsNewAfterANewGrant) {
  LockGroup all = group_of("abc", 100ms);
  EXPECT_THROW(std::ignore = all.lost_token(), LockNotHeldError);
  ASSERT_TRUE(all.acquire_immediately());
  const std::stop_token released = all.lost_token();
  ASSERT_TRUE(all.release());
  ASSERT_TRUE(all.acquire_immediately());
  const std::stop_token expired = all.lost_token();
  ASSERT_TRUE(eventually([&] { return expired.stop_requested(); }));
  EXPECT_FALSE(released.stop_requested());
  ASSERT_TRUE(all.acquire(patiently()));
  all.extend(20s);
  EXPECT_FALSE(all.lost_token().stop_requested());
}

TEST_P(Conformance, LockAll_RunGivesItsFunctionTheLostToken) {
  const auto result = group_of("abc", 100ms).run([](std::stop_token lost) {
    return eventually([&] { return lost.stop_requested(); });
  });
  EXPECT_EQ(result.result(), true);
  EXPECT_TRUE(result.lost());
}

TEST_P(Conformance, LockAll_AreKeptAlive) {
  constexpr auto kTtl = 600ms;
  Lock other = handle("c");
  ASSERT_TRUE(other.acquire_immediately());
  const std::jthread releasing([&] {
    std::this_thread::sleep_for(30ms);
    EXPECT_TRUE(other.release());
  });
  LockGroup all = group_of("abc", kTtl);
  ASSERT_TRUE(all.acquire({.timeout = 30s, .retry_delay = retry_delay(), .keep_alive = true}));
  const std::stop_token lost = all.lost_token();
  std::this_thread::sleep_for(2 * kTtl);
  EXPECT_NO_THROW(all.ensure_held());
  EXPECT_FALSE(lost.stop_requested());
  EXPECT_TRUE(all.release());
  EXPECT_EQ(held_of("abc"), "");
}

// Counters without any protection of their own; and everybody who asks, in whatever order, gets there.
TEST_P(Conformance, C02_LockAll_ThreadsThatAskInRandomOrdersExcludeEachOtherAndMakeProgress) {
  constexpr unsigned kThreads = 4;
  constexpr int kRounds = 50;
  std::array<int, 4> counters{};
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        const std::string letters = "abcd";
        std::minstd_rand random(i + 1);
        std::array<std::size_t, 4> order{0, 1, 2, 3};
        for (int round = 0; round < kRounds; ++round) {
          std::shuffle(order.begin(), order.end(), random);
          LockGroup two = group_of({letters[order[0]], letters[order[1]]});
          const auto work = [&] {
            ++counters[order[0]];
            ++counters[order[1]];
          };
          ASSERT_TRUE(two.run(work, {.timeout = 30s, .retry_delay = 5ms}));
        }
      });
    }
  }
  EXPECT_EQ(counters[0] + counters[1] + counters[2] + counters[3], 2 * kRounds * int{kThreads});
}

}  // namespace
}  // namespace mortise::conformance
