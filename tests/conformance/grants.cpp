// Who is granted a key, and with which numbers: C01, C02, C03, C10.
#include <algorithm>
#include <array>
#include <barrier>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "conformance/conformance.hpp"

namespace mortise::conformance {
namespace {

using namespace std::chrono_literals;
using test::IsWithin;
using test::kSlack;
using test::Stopwatch;
using testing::Optional;

TEST_P(Conformance, C01_FreeKeyIsGranted) {
  Lock lock = handle("k");
  EXPECT_FALSE(lock.is_locked());
  EXPECT_TRUE(lock.acquire_immediately());
  EXPECT_TRUE(lock.is_locked());
  EXPECT_TRUE(lock.release());
  EXPECT_FALSE(lock.is_locked());
}

TEST_P(Conformance, C01_HeldKeyIsGrantedToNoOtherHandleAndNoOtherThread) {
  Lock holder = handle("k");
  ASSERT_TRUE(holder.acquire_immediately());
  EXPECT_FALSE(is_free("k"));
  bool granted = true;
  std::jthread([&] { granted = is_free("k"); }).join();
  EXPECT_FALSE(granted);
  EXPECT_TRUE(holder.release());
  EXPECT_TRUE(is_free("k"));
}

TEST_P(Conformance, C01_KeysAreIndependent) {
  Lock first = handle("first");
  Lock second = handle("second");
  EXPECT_TRUE(first.acquire_immediately());
  EXPECT_TRUE(second.acquire_immediately());
  EXPECT_TRUE(first.release());
  EXPECT_FALSE(is_free("second"));
}

TEST_P(Conformance, C01_J2_HolderIsNotGrantedItsOwnKeyAndKeepsItsToken) {
  Lock holder = handle("k");
  ASSERT_TRUE(holder.acquire_immediately());
  const auto fence = holder.fencing_token();
  EXPECT_FALSE(holder.acquire_immediately());
  const Stopwatch watch;
  EXPECT_FALSE(holder.acquire({.timeout = 100ms}));
  EXPECT_THAT(watch.elapsed(), IsWithin(100ms, 100ms + kSlack));
  EXPECT_EQ(holder.fencing_token(), fence);
  EXPECT_FALSE(holder.is_expired());
  EXPECT_NO_THROW(holder.extend());
  EXPECT_TRUE(holder.release());
  EXPECT_TRUE(is_free("k"));
}

TEST_P(Conformance, C01_J2_NestedRunOnTheSameKeyDoesNotRun) {
  bool inner_called = false;
  bool inner_ran = true;
  const bool outer_ran(handle("k").run(
      [&] { inner_ran = bool(handle("k").run([&] { inner_called = true; }, {.timeout = 50ms})); }));
  EXPECT_TRUE(outer_ran);
  EXPECT_FALSE(inner_ran);
  EXPECT_FALSE(inner_called);
}

TEST_P(Conformance, C01_B5_LeaseIsJudgedByItsOwnExpiryNotByTheContendersTtl) {
  Lock holder = handle("k", 20s);
  ASSERT_TRUE(holder.acquire_immediately());
  Lock contender = handle("k", 50ms);
  const Stopwatch watch;
  EXPECT_FALSE(contender.acquire({.timeout = 250ms}));
  EXPECT_THAT(watch.elapsed(), IsWithin(250ms, 250ms + kSlack));
  EXPECT_THAT(contender.remaining_time(), Optional(IsWithin(10s, 20s)));
  EXPECT_FALSE(holder.is_expired());
  EXPECT_TRUE(holder.release());
}

// Of 8 threads that ask for a key at the same moment one gets it, for keys that are new to the store and
// known ones.
TEST_P(Conformance, C02_OneOfManySimultaneousAcquiresIsGranted) {
  constexpr int kThreads = 8;
  constexpr int kRounds = 100;
  std::array<int, kRounds> grants{};
  std::array<std::array<bool, kThreads>, kRounds> granted{};
  std::barrier together(kThreads);
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        for (unsigned round = 0; round < kRounds; ++round) {
          Lock lock = handle(LockKey(round % 2 == 0 ? "known" : "new " + std::to_string(round)));
          together.arrive_and_wait();
          granted[round][i] = lock.acquire_immediately();
          together.arrive_and_wait();
        }
      });
    }
  }
  for (unsigned round = 0; round < kRounds; ++round) {
    for (const bool one : granted[round]) grants[round] += one ? 1 : 0;
  }
  EXPECT_THAT(grants, testing::Each(1));
}

// What a holder does happens before what the next holder does: a counter needs no other protection.
TEST_P(Conformance, C02_OneThreadAtATimeIsInside) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 100;
  int counter = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        Lock lock = handle("k");
        for (int round = 0; round < kRounds; ++round) {
          EXPECT_TRUE(lock.run([&] { ++counter; }, {.timeout = 30s, .retry_delay = 1ms}));
        }
      });
    }
  }
  EXPECT_EQ(counter, kThreads * kRounds);
}

TEST_P(Conformance, C03_TokensDifferAndFencingNumbersRise) {
  constexpr int kThreads = 8;
  constexpr int kRounds = 25;
  std::vector<std::uint64_t> fences;
  std::set<std::string> texts;  // of one key and one ttl, so that they differ by token and fencing number
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        Lock lock = handle("k");
        for (int round = 0; round < kRounds; ++round) {
          EXPECT_TRUE(lock.run(
              [&](Lock& held) {
                fences.push_back(held.fencing_token());
                texts.insert(held.serialize());
              },
              {.timeout = 30s, .retry_delay = 1ms}));
        }
      });
    }
  }
  EXPECT_EQ(texts.size(), kThreads * kRounds);
  EXPECT_EQ(fences.size(), kThreads * kRounds);
  EXPECT_EQ(std::adjacent_find(fences.begin(), fences.end(), std::greater_equal<>()), fences.end());
}

TEST_P(Conformance, C03_FencingNumberRisesAfterAnExpiryToo) {
  const auto store = connect();
  const auto first = store->acquire("k", OwnerToken::generate(), 1ms);
  ASSERT_TRUE(first);
  Lock second = handle("k");
  ASSERT_TRUE(second.acquire({.timeout = 5s, .retry_delay = 1ms}));
  EXPECT_GT(second.fencing_token(), first->fencing_token);
}

TEST_P(Conformance, C03_FencingNumberNeedsAGrant) {
  Lock lock = handle("k");
  EXPECT_THROW(std::ignore = lock.fencing_token(), LockNotHeldError);
  Lock holder = handle("k");
  ASSERT_TRUE(holder.acquire_immediately());
  EXPECT_FALSE(lock.acquire_immediately());
  EXPECT_THROW(std::ignore = lock.fencing_token(), LockNotHeldError);
}

TEST_P(Conformance, C10_HandleAcquiresAgainAfterARelease) {
  Lock lock = handle("k");
  ASSERT_TRUE(lock.acquire_immediately());
  const auto fence = lock.fencing_token();
  const auto text = lock.serialize();
  ASSERT_TRUE(lock.release());
  ASSERT_TRUE(lock.acquire_immediately());
  EXPECT_GT(lock.fencing_token(), fence);
  EXPECT_NE(lock.serialize(), text);
  EXPECT_FALSE(restore_lock(text, connect()).release()) << "the token of the first grant is of no use";
  EXPECT_TRUE(lock.release());
}

TEST_P(Conformance, C10_HandleAcquiresAgainAfterALoss) {
  Lock lock = handle("k");
  ASSERT_TRUE(lock.acquire_immediately());
  const auto fence = lock.fencing_token();
  lock.extend(1ms);
  ASSERT_TRUE(lock.acquire(patiently()));
  EXPECT_GT(lock.fencing_token(), fence);
  EXPECT_TRUE(lock.release());
}

}  // namespace
}  // namespace mortise::conformance
