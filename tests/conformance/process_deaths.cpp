// A lease ends with its process (section 3 of the semantics, C14), in stores that know of its death.
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <optional>
#include <thread>
#include <tuple>
#include <vector>

#include "conformance/conformance.hpp"
#include "support/eventually.hpp"
#include "support/shared.hpp"

namespace mortise::conformance {
namespace {

using namespace std::chrono_literals;
using test::Channel;
using test::ChildProcess;
using test::kSlack;
using test::Stopwatch;

#define SKIP_UNLESS_THE_DEAD_ARE_FREED_AT_ONCE() \
  if (!GetParam().dead_holder_freed_at_once)     \
  GTEST_SKIP() << "in this store a dead holder's lease lasts until its expiry"

TEST_P(ProcessConformance, C14_KeyOfAKilledHolderIsFreeAtOnce) {
  SKIP_UNLESS_THE_DEAD_ARE_FREED_AT_ONCE();
  for (const char* key : {"new to the store", "new to the store", "another"}) {
    ChildProcess holding = holder(key);
    ASSERT_EQ(holding.receive(), "granted");
    EXPECT_FALSE(is_free(key));
    holding.kill();
    EXPECT_TRUE(handle(key).acquire_immediately());
  }
}

TEST_P(ProcessConformance, C14_KeyOfAZombieIsFreeAtOnce) {
  SKIP_UNLESS_THE_DEAD_ARE_FREED_AT_ONCE();
  ChildProcess holding = holder("k");
  ASSERT_EQ(holding.receive(), "granted");
  holding.signal(SIGKILL);
  holding.await_death();
  EXPECT_EQ(kill(holding.pid(), 0), 0) << "the test is to have a zombie";
  EXPECT_TRUE(handle("k").acquire_immediately());
}

TEST_P(ProcessConformance, C05_LeaseOfADeadHolderIsOverForAllPurposes) {
  SKIP_UNLESS_THE_DEAD_ARE_FREED_AT_ONCE();
  const auto store = connect();
  const OwnerToken owner = OwnerToken::generate();
  ChildProcess holding([&](Channel&) {
    if (!connect()->acquire("k", owner, 20s)) _exit(1);
  });
  ASSERT_EQ(holding.wait(), 0);
  EXPECT_FALSE(store->is_locked("k"));
  EXPECT_FALSE(store->is_held_by("k", owner));
  EXPECT_EQ(store->remaining_time("k"), std::nullopt);
  EXPECT_FALSE(store->extend("k", owner, 20s));
  EXPECT_FALSE(store->release("k", owner));
  EXPECT_FALSE(store->outlive_process("k", owner)) << "too late to hand it over";
  EXPECT_TRUE(is_free("k"));
}

// Of those that wait there may be many, and in one process several. Where the store wakes waiters, only the
// death itself can have woken them: their retry_delay is too long.
TEST_P(ProcessConformance, C14_WaiterIsGrantedWhenTheHolderDies) {
  SKIP_UNLESS_THE_DEAD_ARE_FREED_AT_ONCE();
  for (const int how : {SIGKILL, SIGTERM, 0}) {
    ChildProcess holding = holder("k");
    ASSERT_EQ(holding.receive(), "granted");
    ChildProcess waiting = waiter("k", patiently());
    ASSERT_EQ(waiting.receive(), "waiting");
    std::this_thread::sleep_for(30ms);
    const Stopwatch since_death;
    if (how != 0) {
      holding.signal(how);
    } else {
      holding.send("end");  // by exit(), with the lease released or not
    }
    EXPECT_EQ(waiting.receive(), "granted");
    EXPECT_LT(since_death.elapsed(), kSlack);
  }
}

TEST_P(ProcessConformance, C14_WaiterIsGrantedWhenItsOwnChildDies) {
  SKIP_UNLESS_THE_DEAD_ARE_FREED_AT_ONCE();
  ChildProcess holding = holder("k");
  ASSERT_EQ(holding.receive(), "granted");
  Stopwatch since_death;
  const std::jthread killing([&] {
    std::this_thread::sleep_for(30ms);
    since_death = Stopwatch();
    holding.signal(SIGKILL);  // and leaves a zombie, for only this process could wait for it
  });
  Lock lock = handle("k");
  ASSERT_TRUE(lock.acquire(patiently()));
  EXPECT_LT(since_death.elapsed(), kSlack);
}

// Each is granted when the one before dies.
TEST_P(ProcessConformance, C14_EveryOneOfManyWaitersIsGrantedByTheDeathOfTheOneBefore) {
  SKIP_UNLESS_THE_DEAD_ARE_FREED_AT_ONCE();
  constexpr std::size_t kWaiters = 8;
  ChildProcess first = holder("k");
  ASSERT_EQ(first.receive(), "granted");
  const test::Shared<std::atomic<int>> holds;
  std::vector<ChildProcess> waiters;
  for (int i = 0; i < static_cast<int>(kWaiters); ++i) {
    waiters.emplace_back([&, i](Channel& test) {
      Lock lock = handle("k");
      test.send("waiting");
      if (lock.acquire(patiently())) *holds = i + 1;
      pause();
    });
    ASSERT_EQ(waiters.back().receive(), "waiting");
  }
  std::this_thread::sleep_for(30ms);
  ChildProcess* holding = &first;
  for (std::size_t i = 0; i < kWaiters; ++i) {
    *holds = 0;
    const Stopwatch since_death;
    holding->kill();
    ASSERT_TRUE(test::eventually([&] { return *holds != 0; }))
        << "nobody is granted the key of dead number " << i;
    EXPECT_LT(since_death.elapsed(), kSlack);
    holding = &waiters[static_cast<std::size_t>(*holds - 1)];
  }
}

TEST_P(ProcessConformance, C14_EveryWaitingThreadOfAProcessIsGrantedAfterADeath) {
  SKIP_UNLESS_THE_DEAD_ARE_FREED_AT_ONCE();
  ChildProcess holding = holder("k");
  ASSERT_EQ(holding.receive(), "granted");
  std::atomic<int> granted = 0;
  Stopwatch since_death;
  {
    std::vector<std::jthread> waiters;
    for (int i = 0; i < 8; ++i)
      waiters.emplace_back([&] { granted += handle("k").run([] {}, patiently()) ? 1 : 0; });
    std::this_thread::sleep_for(30ms);
    since_death = Stopwatch();
    holding.kill();
  }
  EXPECT_EQ(granted, 8);
  EXPECT_LT(since_death.elapsed(), 4 * kSlack);
}

// While the waiter sleeps the key goes from the one that it saw to another: only the other's death counts.
TEST_P(ProcessConformance, C14_WaiterFollowsTheKeyToItsNextHolder) {
  SKIP_UNLESS_THE_DEAD_ARE_FREED_AT_ONCE();
  ChildProcess first = holder("k");
  ASSERT_EQ(first.receive(), "granted");
  ChildProcess waiting = waiter("k", patiently());
  ASSERT_EQ(waiting.receive(), "waiting");
  std::this_thread::sleep_for(30ms);
  waiting.stop();  // or it would be the next holder itself
  first.send("release it");
  ASSERT_EQ(first.wait(), 0);
  ChildProcess second = holder("k");
  ASSERT_EQ(second.receive(), "granted");
  waiting.resume();
  std::this_thread::sleep_for(100ms);
  EXPECT_FALSE(is_free("k")) << "the first holder's end is not the second's";
  const Stopwatch since_death;
  second.kill();
  EXPECT_EQ(waiting.receive(), "granted");
  EXPECT_LT(since_death.elapsed(), kSlack);
}

// The lease is handed over while the waiter sleeps, and watches a process that is nothing to it any more.
TEST_P(ProcessConformance, C16_WaiterIsNotGrantedByTheDeathOfWhoHandedTheLeaseOver) {
  constexpr auto kTtl = 1s;
  ChildProcess holding([&](Channel& test) {
    Lock lock = handle("k", kTtl);
    test.send(lock.acquire_immediately() ? "granted" : "refused");
    std::ignore = test.receive();
    test.send(lock.serialize());
    pause();
  });
  const Stopwatch since_grant;
  ASSERT_EQ(holding.receive(), "granted");
  ChildProcess waiting = waiter("k", patiently());
  ASSERT_EQ(waiting.receive(), "waiting");
  std::this_thread::sleep_for(30ms);
  holding.send("hand it over");
  Lock restored = restore_lock(holding.receive(), connect());
  holding.kill();
  EXPECT_EQ(waiting.receive(), "granted");
  EXPECT_THAT(since_grant.elapsed(), test::IsWithin(kTtl - kSlack, kTtl + kSlack)) << "by its expiry";
  EXPECT_FALSE(restored.release());
}

// A process that is killed dies thread by thread, and none of them may see the next holder.
TEST_P(ProcessConformance, C14_NoThreadOfADeadHolderRunsAfterTheNextGrant) {
  SKIP_UNLESS_THE_DEAD_ARE_FREED_AT_ONCE();
  const test::Shared<std::atomic<std::uint64_t>> writes;
  for (int round = 0; round < 3; ++round) {
    ChildProcess holding([&](Channel& test) {
      Lock lock = handle("k");
      if (!lock.acquire_immediately()) return test.send("refused");
      std::vector<std::jthread> threads;
      for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&] {
          for (;;) ++*writes;
        });
      }
      const std::vector<char> memory(32 << 20, 'x');  // takes the kernel some time to free
      test.send("granted");
      test.await_end();
    });
    ASSERT_EQ(holding.receive(), "granted");
    std::atomic<bool> granted = false;
    const std::jthread killing([&] {
      std::this_thread::sleep_for(10ms);
      EXPECT_FALSE(granted);
      holding.signal(SIGKILL);
    });
    Lock lock = handle("k");
    ASSERT_TRUE(lock.acquire(patiently()));
    const std::uint64_t at_the_grant = *writes;
    granted = true;
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(*writes, at_the_grant);
  }
}

// The main thread is gone, and the process is not.
TEST_P(ProcessConformance, C14_ProcessWithAThreadLeftIsNotDead) {
  ChildProcess holding([&](Channel& test) {
    std::thread([&] {
      static Lock lock = handle("k");
      if (!lock.acquire_immediately()) return test.send("refused");
      std::this_thread::sleep_for(10ms);
      test.send("granted");
      for (;;) pause();
    }).detach();
    syscall(SYS_exit, 0);
  });
  ASSERT_EQ(holding.receive(), "granted");
  EXPECT_FALSE(handle("k").acquire({.timeout = 200ms, .retry_delay = retry_delay()}));
  if (!GetParam().dead_holder_freed_at_once) return;
  holding.kill();
  EXPECT_TRUE(is_free("k"));
}

TEST_P(ProcessConformance, C14_StoppedHolderIsNotDead) {
  ChildProcess holding = holder("k");
  ASSERT_EQ(holding.receive(), "granted");
  holding.stop();
  EXPECT_FALSE(handle("k").acquire({.timeout = 200ms, .retry_delay = 10ms}));
  holding.resume();
  holding.send("release it");
  EXPECT_EQ(holding.wait(), 0);
  EXPECT_TRUE(is_free("k"));
}

// However a process ends, whether or not its destructors run.
TEST_P(ProcessConformance, C14_KeyIsFreeAfterEveryKindOfEnd) {
  SKIP_UNLESS_THE_DEAD_ARE_FREED_AT_ONCE();
  const auto no_core_file = [] {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
  };
  const std::function<void()> ends[] = {
      [] { std::exit(0); },
      [] { std::quick_exit(0); },
      [] { _exit(0); },
      [&] {
        no_core_file();
        signal(SIGABRT, SIG_DFL);
        std::abort();
      },
      [&] {
        no_core_file();
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
      },
      [] { raise(SIGTERM); },
  };
  for (const auto& end : ends) {
    ChildProcess holding([&](Channel& test) {
      static std::optional<Lock> held;
      held = handle("k");
      test.send(held->acquire_immediately() ? "granted" : "refused");
      end();
    });
    EXPECT_EQ(holding.receive(), "granted");
    holding.wait();
    EXPECT_TRUE(is_free("k"));
  }
}

TEST_P(ProcessConformance, C14_ManyLeasesOfOneDeadProcessAreFree) {
  SKIP_UNLESS_THE_DEAD_ARE_FREED_AT_ONCE();
  constexpr int kKeys = 500;
  const auto key = [](int i) { return LockKey("key " + std::to_string(i)); };
  ChildProcess holding([&](Channel& test) {
    std::vector<Lock> locks;
    for (int i = 0; i < kKeys; ++i) {
      locks.push_back(handle(key(i)));
      if (!locks.back().acquire_immediately()) _exit(1);
    }
    test.send("granted");
    std::ignore = test.receive();
  });
  ASSERT_EQ(holding.receive(), "granted");
  EXPECT_FALSE(is_free(key(kKeys - 1)));
  holding.kill();
  for (int i = 0; i < kKeys; ++i) EXPECT_TRUE(is_free(key(i))) << i;
}

// The dead holder's place is taken by another process, which must not inherit its leases.
TEST_P(ProcessConformance, C14_NextProcessInheritsNothingFromADeadOne) {
  SKIP_UNLESS_THE_DEAD_ARE_FREED_AT_ONCE();
  for (int round = 0; round < 50; ++round) {
    ChildProcess dead = holder("k");
    ASSERT_EQ(dead.receive(), "granted");
    dead.kill();
    ChildProcess next = holder("something else");
    ASSERT_EQ(next.receive(), "granted");
    EXPECT_TRUE(is_free("k"));
    next.kill();
  }
}

}  // namespace
}  // namespace mortise::conformance
