// A lease ends with its process (section 3 of the semantics, C14), in stores that know of its death.
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <cstdlib>
#include <optional>
#include <thread>

#include "conformance/conformance.hpp"

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

TEST_P(ProcessConformance, C14_WaiterIsGrantedWhenTheHolderDies) {
  SKIP_UNLESS_THE_DEAD_ARE_FREED_AT_ONCE();
  constexpr auto kRetryDelay = 50ms;
  ChildProcess holding = holder("k");
  ASSERT_EQ(holding.receive(), "granted");
  ChildProcess waiting = waiter("k", {.timeout = 20s, .retry_delay = kRetryDelay});
  ASSERT_EQ(waiting.receive(), "waiting");
  std::this_thread::sleep_for(30ms);
  const Stopwatch since_death;
  holding.kill();
  EXPECT_EQ(waiting.receive(), "granted");
  EXPECT_LT(since_death.elapsed(), kRetryDelay + kSlack);
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
