// What is granted to whom, between processes: C01, C02, C03, C04, C06, C14, C15.
#include <signal.h>

#include <array>
#include <atomic>
#include <set>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "conformance/conformance.hpp"
#include "support/eventually.hpp"
#include "support/shared.hpp"

namespace mortise::conformance {
namespace {

using namespace std::chrono_literals;
using test::Channel;
using test::ChildProcess;
using test::IsWithin;
using test::kSlack;
using test::Stopwatch;
using testing::Optional;

constexpr auto kUntilAsleep = 30ms;

TEST_P(ProcessConformance, C01_KeyHeldHereIsNotGrantedElsewhere) {
  Lock lock = handle("k");
  ASSERT_TRUE(lock.acquire_immediately());
  EXPECT_FALSE(is_free_elsewhere("k"));
  EXPECT_TRUE(is_free_elsewhere("other"));
  ASSERT_TRUE(lock.release());
  EXPECT_TRUE(is_free_elsewhere("k"));
}

TEST_P(ProcessConformance, C21_StateIsSeenByOtherProcessesAtOnce) {
  ChildProcess other = holder("k", 20s);
  ASSERT_EQ(other.receive(), "granted");
  const auto store = connect();
  EXPECT_TRUE(store->is_locked("k"));
  EXPECT_THAT(store->remaining_time("k"), Optional(IsWithin(20s - kSlack, 20s)));
  other.send("release it");
  ASSERT_EQ(other.wait(), 0);
  EXPECT_FALSE(store->is_locked("k"));
  EXPECT_EQ(store->remaining_time("k"), std::nullopt);
}

// 8 processes ask for a key at the same moment, for keys that are new to the store and for known ones.
TEST_P(ProcessConformance, C02_OneOfManySimultaneousAcquiresIsGranted) {
  constexpr unsigned kProcesses = 8;
  constexpr unsigned kRounds = 200;
  const test::ProcessBarrier together(kProcesses);
  const test::Shared<std::array<std::atomic<int>, kRounds>> grants;
  std::vector<ChildProcess> processes;
  for (unsigned i = 0; i < kProcesses; ++i) {
    processes.emplace_back([&](Channel&) {
      for (unsigned round = 0; round < kRounds; ++round) {
        Lock lock = handle(LockKey(round % 2 == 0 ? "known" : "new " + std::to_string(round)));
        together.arrive_and_wait();
        (*grants)[round] += lock.acquire_immediately() ? 1 : 0;
        together.arrive_and_wait();
      }
    });
  }
  for (ChildProcess& process : processes) EXPECT_EQ(process.wait(), 0);
  for (unsigned round = 0; round < kRounds; ++round) EXPECT_EQ((*grants)[round], 1) << "round " << round;
}

// A counter without any protection of its own.
TEST_P(ProcessConformance, C02_OneProcessAtATimeIsInside) {
  constexpr int kProcesses = 8;
  constexpr int kRounds = 200;
  const test::Shared<int> counter;
  std::vector<ChildProcess> processes;
  for (int i = 0; i < kProcesses; ++i) {
    processes.emplace_back([&](Channel&) {
      Lock lock = handle("k");
      for (int round = 0; round < kRounds; ++round) {
        if (!lock.run([&] { *counter = *counter + 1; }, {.timeout = 30s, .retry_delay = 1ms})) _exit(1);
      }
    });
  }
  for (ChildProcess& process : processes) EXPECT_EQ(process.wait(), 0);
  EXPECT_EQ(*counter, kProcesses * kRounds);
}

TEST_P(ProcessConformance, C03_D2_ForkedChildrenDrawTokensOfTheirOwn) {
  constexpr std::size_t kChildren = 8;
  constexpr std::size_t kGrants = 100;
  EXPECT_TRUE(is_free("seeds the generator that the children inherit"));
  std::vector<ChildProcess> children;
  for (std::size_t i = 0; i < kChildren; ++i) {
    children.emplace_back([&](Channel& test) {
      for (std::size_t j = 0; j < kGrants; ++j) {
        const OwnerToken token = OwnerToken::generate();
        test.send(std::to_string(token.as_number()));
      }
    });
  }
  std::set<std::string> tokens;
  for (const ChildProcess& child : children) {
    for (std::size_t j = 0; j < kGrants; ++j) tokens.insert(child.receive());
  }
  for (std::size_t j = 0; j < kGrants; ++j) tokens.insert(std::to_string(OwnerToken::generate().as_number()));
  EXPECT_EQ(tokens.size(), (kChildren + 1) * kGrants);
}

TEST_P(ProcessConformance, C03_FencingNumbersRiseFromProcessToProcess) {
  std::uint64_t last = 0;
  for (int i = 0; i < 20; ++i) {
    ChildProcess child([&](Channel& test) {
      Lock lock = handle("k");
      if (lock.acquire_immediately()) test.send(std::to_string(lock.fencing_token()));
    });
    const std::uint64_t fence = std::stoull(child.receive());
    EXPECT_GT(fence, last);
    last = fence;
    EXPECT_EQ(child.wait(), 0);
  }
}

// The holder is stopped until its lease is over. When it goes on it must find out.
TEST_P(ProcessConformance, C06_StoppedHolderFindsOutThatItLostItsLease) {
  constexpr auto kTtl = 200ms;
  const Stopwatch since_grant;
  ChildProcess stopped([&](Channel& test) {
    Lock lock = handle("k", kTtl);
    test.send(lock.acquire_immediately() ? "granted" : "refused");
    std::ignore = test.receive();
    if (!lock.is_expired()) test.send("not expired");
    try {
      lock.extend(60s);
      test.send("extended");
    } catch (const LockNotHeldError&) {
    }
    test.send(lock.release() ? "released" : "lost");
  });
  ASSERT_EQ(stopped.receive(), "granted");
  stopped.stop();
  Lock next = handle("k", 20s);
  ASSERT_TRUE(next.acquire(patiently()));
  EXPECT_THAT(since_grant.elapsed(), IsWithin(kTtl, kTtl + kSlack));
  stopped.resume();
  stopped.send("go on");
  EXPECT_EQ(stopped.receive(), "lost");
  EXPECT_EQ(stopped.wait(), 0);
  EXPECT_THAT(next.remaining_time(), Optional(IsWithin(1ms, 20s)));
  EXPECT_TRUE(next.release());
}

TEST_P(ProcessConformance, C07_StoppedHolderFindsOutThoughNobodyTookTheKey) {
  ChildProcess stopped([&](Channel& test) {
    Lock lock = handle("k", 50ms);
    test.send(lock.acquire_immediately() ? "granted" : "refused");
    std::ignore = test.receive();
    try {
      lock.extend(60s);
      test.send("extended");
    } catch (const LockNotHeldError&) {
    }
    test.send(lock.release() ? "released" : "lost");
  });
  ASSERT_EQ(stopped.receive(), "granted");
  stopped.stop();
  std::this_thread::sleep_for(70ms);
  stopped.resume();
  stopped.send("go on");
  EXPECT_EQ(stopped.receive(), "lost");
  EXPECT_TRUE(is_free("k"));
}

TEST_P(ProcessConformance, C14_WaiterIsGrantedOnReleaseByAnotherProcess) {
  Lock lock = handle("k");
  ASSERT_TRUE(lock.acquire_immediately());
  ChildProcess waiting = waiter("k", patiently());
  ASSERT_EQ(waiting.receive(), "waiting");
  std::this_thread::sleep_for(kUntilAsleep);
  const Stopwatch since_release;
  ASSERT_TRUE(lock.release());
  EXPECT_EQ(waiting.receive(), "granted");
  EXPECT_LT(since_release.elapsed(), kSlack);
}

// The key is freed between a waiter's look and its sleep, again and again.
TEST_P(ProcessConformance, C14_C2_ReleaseJustBeforeTheSleepIsNotMissed) {
  if (!GetParam().wakes_waiters) GTEST_SKIP() << "who polls may miss every moment in which it is free";
  ChildProcess holding([&](Channel&) {
    Lock lock = handle("k");
    for (;;) {
      if (!lock.acquire_immediately()) continue;
      std::this_thread::yield();
      if (!lock.release()) _exit(1);
    }
  });
  Lock lock = handle("k");
  for (int round = 0; round < 300; ++round) {
    const Stopwatch watch;
    ASSERT_TRUE(lock.acquire(patiently()));
    EXPECT_LT(watch.elapsed(), 4 * kSlack);
    EXPECT_TRUE(lock.release());
  }
  EXPECT_EQ(holding.kill(), 128 + SIGKILL);
}

TEST_P(ProcessConformance, C14_EveryOneOfManySleepersIsGranted) {
  constexpr int kWaiters = 16;
  Lock lock = handle("k");
  ASSERT_TRUE(lock.acquire_immediately());
  std::vector<ChildProcess> waiters;
  for (int i = 0; i < kWaiters; ++i) {
    waiters.push_back(waiter("k", patiently()));
    ASSERT_EQ(waiters.back().receive(), "waiting");
  }
  std::this_thread::sleep_for(kUntilAsleep);
  const Stopwatch since_release;
  ASSERT_TRUE(lock.release());
  for (const ChildProcess& each : waiters) EXPECT_EQ(each.receive(), "granted");
  EXPECT_LT(since_release.elapsed(), 4 * kSlack) << "somebody was not woken by the one before";
}

TEST_P(ProcessConformance, C15_StoppedWaiterCostsTheNextNoMoreThanARetryDelay) {
  constexpr auto kRetryDelay = 200ms;
  Lock lock = handle("k");
  ASSERT_TRUE(lock.acquire_immediately());
  ChildProcess stopped = waiter("k", patiently());
  ASSERT_EQ(stopped.receive(), "waiting");
  std::this_thread::sleep_for(kUntilAsleep);
  stopped.stop();
  ChildProcess next = waiter("k", {.timeout = 20s, .retry_delay = kRetryDelay});
  ASSERT_EQ(next.receive(), "waiting");
  std::this_thread::sleep_for(kUntilAsleep);
  const Stopwatch since_release;
  ASSERT_TRUE(lock.release());
  EXPECT_EQ(next.receive(), "granted");
  EXPECT_LT(since_release.elapsed(), kRetryDelay + kSlack);
}

// Who was woken and got the key dies with it, and the others slept all the while.
TEST_P(ProcessConformance, C14_DeathOfAWaiterThatWasJustGrantedIsToldToTheNext) {
  if (!GetParam().dead_holder_freed_at_once) GTEST_SKIP() << "a dead holder's lease lasts until its expiry";
  constexpr auto kRetryDelay = 20s;
  Lock lock = handle("k");
  ASSERT_TRUE(lock.acquire_immediately());
  const test::Shared<std::atomic<int>> holds;
  std::vector<ChildProcess> waiters;
  for (const int number : {1, 2, 3}) {
    waiters.emplace_back([&, number](Channel& test) {
      Lock mine = handle("k");
      test.send("waiting");
      if (mine.acquire({.timeout = 30s, .retry_delay = kRetryDelay})) *holds = number;
      test.await_end();
    });
    ASSERT_EQ(waiters.back().receive(), "waiting");
  }
  std::this_thread::sleep_for(kUntilAsleep);
  Stopwatch since_the_end;
  ASSERT_TRUE(lock.release());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(test::eventually([&] { return *holds != 0; }));
    EXPECT_LT(since_the_end.elapsed(), kSlack);
    ChildProcess& holding = waiters[static_cast<std::size_t>(holds->exchange(0) - 1)];
    since_the_end = Stopwatch();
    holding.kill();
  }
}

// With many others that want the key, and get it or not.
TEST_P(ProcessConformance, C13_C5_WaitEndsAtItsTimeoutAmongFiftyContenders) {
  constexpr int kContenders = 50;
  Lock lock = handle("k");
  ASSERT_TRUE(lock.acquire_immediately());
  std::vector<ChildProcess> contenders;
  for (int i = 0; i < kContenders; ++i) {
    contenders.emplace_back([&](Channel&) {
      for (;;) std::ignore = handle("k").acquire({.timeout = 60s, .retry_delay = 50ms});
    });
  }
  Lock waiting = handle("k");
  for (const auto& [timeout, delay] : {std::pair{100ms, 5000ms}, {150ms, 0ms}, {200ms, 199ms}}) {
    const Stopwatch watch;
    EXPECT_FALSE(waiting.acquire({.timeout = timeout, .retry_delay = delay}));
    EXPECT_THAT(watch.elapsed(), IsWithin(timeout, timeout + kSlack));
  }
  bool called = false;
  const Stopwatch watch;
  EXPECT_FALSE(waiting.run([&] { called = true; }, {.timeout = 120ms, .retry_delay = 10s}));
  EXPECT_THAT(watch.elapsed(), IsWithin(120ms, 120ms + kSlack));
  EXPECT_FALSE(called);
}

// Some that waited are dead. The one that lives gets the key, and after it everybody who comes.
TEST_P(ProcessConformance, C15_C7_DeadWaitersCostTheNextNoMoreThanARetryDelay) {
  constexpr auto kRetryDelay = 100ms;
  for (const bool holder_dies : {false, true}) {
    if (holder_dies && !GetParam().dead_holder_freed_at_once) continue;
    ChildProcess holding = holder("k");
    ASSERT_EQ(holding.receive(), "granted");
    std::vector<ChildProcess> waiters;
    for (int i = 0; i < 5; ++i) {
      waiters.push_back(waiter("k", {.timeout = 600s, .retry_delay = kRetryDelay}));
      ASSERT_EQ(waiters.back().receive(), "waiting");
      std::this_thread::sleep_for(kUntilAsleep);
    }
    for (std::size_t i = 0; i + 1 < waiters.size(); ++i) waiters[i].kill();
    const Stopwatch since_the_end;
    if (holder_dies) {
      holding.kill();
    } else {
      holding.send("release it");
    }
    EXPECT_EQ(waiters.back().receive(), "granted");
    EXPECT_LT(since_the_end.elapsed(), kRetryDelay + kSlack);
    EXPECT_EQ(waiters.back().wait(), 0);
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(is_free_elsewhere("k"));
  }
}

}  // namespace
}  // namespace mortise::conformance
