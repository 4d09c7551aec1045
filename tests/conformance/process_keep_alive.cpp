// Leases that are kept alive, when their process forks, stops, or ends.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <stop_token>
#include <thread>
#include <tuple>
#include <vector>

#include "conformance/conformance.hpp"
#include "support/eventually.hpp"

namespace mortise::conformance {
namespace {

using namespace std::chrono_literals;
using test::Channel;
using test::ChildProcess;
using test::eventually;
using test::kSlack;
using test::Stopwatch;

constexpr auto kTtl = 600ms;
constexpr auto kMuchLonger = 2 * kTtl;

template <class Operation>
bool refuses(Operation&& operation) {
  try {
    operation();
    return false;
  } catch (const LockNotHeldError&) {
    return true;
  }
}

TEST_P(ProcessConformance, C17_ForkedChildRenewsNothingAndTheParentGoesOn) {
  Lock lock = handle("k", kTtl);
  ASSERT_TRUE(lock.acquire({.keep_alive = true}));
  const std::stop_token lost = lock.lost_token();
  ChildProcess child([&](Channel& test) {
    const bool inert = refuses([&] { lock.ensure_held(); }) &&
                       refuses([&] { std::ignore = lock.lost_token(); }) && !lock.release();
    test.send(inert && !lost.stop_requested() ? "inert" : "not inert");
    { const Lock ended = std::move(lock); }
    test.await_end();
  });
  EXPECT_EQ(child.receive(), "inert");
  std::this_thread::sleep_for(kMuchLonger);
  EXPECT_FALSE(lost.stop_requested());
  expect_held(lock);
}

TEST_P(ProcessConformance, C17_ForkedChildKeepsLeasesOfItsOwnAlive) {
  Lock lock = handle("k", kTtl);
  ASSERT_TRUE(lock.acquire({.keep_alive = true}));
  // By then the renewer is at work. AddressSanitizer's run-time starts no thread in a child that was forked
  // while its parent's thread was just being born.
  std::this_thread::sleep_for(kTtl);
  lock.ensure_held();
  ChildProcess child([&](Channel& test) {
    Lock own = handle("the child's", kTtl);
    if (!own.acquire({.keep_alive = true})) return test.send("refused");
    std::this_thread::sleep_for(kMuchLonger);
    test.send(own.release() ? "kept" : "lost");
  });
  EXPECT_EQ(child.receive(), "kept");
  EXPECT_TRUE(lock.release());
}

// The child has a copy of everything that its dead parent renewed with.
TEST_P(ProcessConformance, C17_ChildDoesNotKeepTheLeaseOfItsDeadParentAlive) {
  ChildProcess parent([&](Channel& test) {
    Lock lock = handle("k", kTtl);
    if (!lock.acquire({.keep_alive = true})) return test.send("refused");
    const pid_t child = fork();
    if (child == 0) {
      test.await_end();
      _exit(0);
    }
    test.send("forked");
    pause();
  });
  ASSERT_EQ(parent.receive(), "forked");
  parent.signal(SIGKILL);
  parent.await_death();
  const Stopwatch since_death;
  EXPECT_TRUE(handle("k").acquire(patiently()));
  EXPECT_LT(since_death.elapsed(), kTtl + kSlack);
}

TEST_P(ProcessConformance, StoppedHolderLosesItsLeaseAndFindsOut) {
  ChildProcess holding([&](Channel& test) {
    Lock lock = handle("k", kTtl);
    const auto result = lock.run(
        [&] {
          const std::stop_token lost = lock.lost_token();
          test.send(lost.stop_requested() ? "lost too early" : "granted");
          if (!eventually([&] { return lost.stop_requested(); })) return test.send("it was never told");
          test.send(refuses([&] { lock.ensure_held(); }) ? "it was told" : "it seems to hold");
        },
        {.keep_alive = true});
    test.send(result.lost() ? "run says so" : "run knows nothing of it");
  });
  ASSERT_EQ(holding.receive(), "granted");
  std::this_thread::sleep_for(kMuchLonger);
  EXPECT_FALSE(is_free("k")) << "it is kept alive";
  holding.stop();
  Lock next = handle("k");
  ASSERT_TRUE(next.acquire(patiently()));
  const Stopwatch since_resumption;
  holding.resume();
  EXPECT_EQ(holding.receive(), "it was told");
  EXPECT_LT(since_resumption.elapsed(), kSlack);
  EXPECT_EQ(holding.receive(), "run says so");
  expect_held(next);
}

// However it ends, with handles that live as long as the process, and others still at work.
TEST_P(ProcessConformance, ProcessEndsCleanlyWhileLeasesAreKeptAlive) {
  const std::function<void()> ends[] = {
      [] { std::exit(0); },
      [] { std::quick_exit(0); },
      [] { std::thread([] { std::exit(0); }).join(); },
      [] {},
  };
  for (const auto& end : ends) {
    for (const bool late : {false, true}) {
      ChildProcess ending([&](Channel&) {
        alarm(20);
        // A handle that is destroyed after, or before, what the library itself does at the end.
        if (late && !handle("warms up", 1s).acquire({.timeout = 10s, .keep_alive = true})) _exit(1);
        static std::optional<std::vector<Lock>> held;
        held.emplace();
        for (int i = 0; i < 20; ++i) {
          held->push_back(handle(LockKey("key " + std::to_string(i)), 5ms + 1ms * i));
          // Where a lease outlives its process, the one before may still have the key.
          if (!held->back().acquire({.timeout = 10s, .keep_alive = true})) _exit(2);
        }
        std::thread([&] {
          for (;;) std::ignore = handle("other", 5ms).run([] {}, {.keep_alive = true});
        }).detach();
        std::this_thread::sleep_for(10ms);
        end();
      });
      EXPECT_EQ(ending.wait(), 0);
    }
  }
}

}  // namespace
}  // namespace mortise::conformance
