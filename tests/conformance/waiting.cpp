// How a wait ends: C13, C14, C15.
#include <time.h>

#include <atomic>
#include <barrier>
#include <random>
#include <thread>
#include <vector>

#include "conformance/conformance.hpp"

namespace mortise::conformance {
namespace {

using namespace std::chrono_literals;
using test::IsWithin;
using test::kSlack;
using test::Stopwatch;

// Long enough for a thread that was just started to fall asleep in its wait. Nothing depends on it but the
// path taken.
constexpr auto kUntilAsleep = 30ms;

std::chrono::nanoseconds cpu_time_of_this_thread() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

TEST_P(Conformance, C13_WaitEndsAtItsTimeoutWhateverTheRetryDelay) {
  Lock holder = handle("k");
  ASSERT_TRUE(holder.acquire_immediately());
  Lock lock = handle("k");
  for (const AcquireOptions& options : {AcquireOptions{.timeout = 100ms, .retry_delay = 20s},
                                        AcquireOptions{.timeout = 100ms, .retry_delay = 0ms},
                                        AcquireOptions{.timeout = 100ms, .retry_delay = -1ms},
                                        AcquireOptions{.timeout = 100ms, .retry_delay = 99ms}}) {
    const Stopwatch watch;
    EXPECT_FALSE(lock.acquire(options));
    EXPECT_THAT(watch.elapsed(), IsWithin(100ms, 100ms + kSlack));
  }
}

TEST_P(Conformance, C13_WaitOfARunEndsAtItsTimeout) {
  Lock holder = handle("k");
  ASSERT_TRUE(holder.acquire_immediately());
  bool called = false;
  const Stopwatch watch;
  EXPECT_FALSE(handle("k").run([&] { called = true; }, {.timeout = 100ms, .retry_delay = 20s}));
  EXPECT_THAT(watch.elapsed(), IsWithin(100ms, 100ms + kSlack));
  EXPECT_FALSE(called);
}

TEST_P(Conformance, C13_NoTimeoutAndANegativeOneAreOneAttempt) {
  Lock holder = handle("k");
  ASSERT_TRUE(holder.acquire_immediately());
  Lock lock = handle("k");
  const Stopwatch watch;
  EXPECT_FALSE(lock.acquire_immediately());
  EXPECT_FALSE(lock.acquire({.retry_delay = 20s}));
  EXPECT_FALSE(lock.acquire({.timeout = -1ms, .retry_delay = 20s}));
  EXPECT_FALSE(lock.acquire({.timeout = std::chrono::hours::min(), .retry_delay = 20s}));
  EXPECT_LT(watch.elapsed(), kSlack);
  ASSERT_TRUE(holder.release());
  EXPECT_TRUE(lock.acquire({.timeout = -1ms}));
}

TEST_P(Conformance, C13_RetryDelayOfZeroDoesNotBurnACore) {
  Lock holder = handle("k");
  ASSERT_TRUE(holder.acquire_immediately());
  Lock lock = handle("k");
  const auto before = cpu_time_of_this_thread();
  EXPECT_FALSE(lock.acquire({.timeout = 300ms, .retry_delay = 0ms}));
  EXPECT_LT(cpu_time_of_this_thread() - before, 150ms);
}

TEST_P(Conformance, C13_EndlessTimeoutDoesNotOverflow) {
  for (const WaitTime timeout :
       {WaitTime(std::chrono::hours::max()), WaitTime(std::chrono::nanoseconds::max()),
        WaitTime(std::chrono::duration<double>(1e300))}) {
    Lock holder = handle("k");
    ASSERT_TRUE(holder.acquire_immediately());
    const std::jthread releasing([&] {
      std::this_thread::sleep_for(kUntilAsleep);
      EXPECT_TRUE(holder.release());
    });
    Lock lock = handle("k");
    EXPECT_TRUE(lock.acquire({.timeout = timeout, .retry_delay = retry_delay()}));
  }
}

TEST_P(Conformance, C13_EndlessRetryDelayDoesNotOverflow) {
  Lock holder = handle("k");
  ASSERT_TRUE(holder.acquire_immediately());
  Lock lock = handle("k");
  const Stopwatch watch;
  EXPECT_FALSE(lock.acquire({.timeout = 50ms, .retry_delay = std::chrono::hours::max()}));
  EXPECT_THAT(watch.elapsed(), IsWithin(50ms, 50ms + kSlack));
}

TEST_P(Conformance, C14_WaiterIsGrantedOnRelease) {
  Lock holder = handle("k");
  ASSERT_TRUE(holder.acquire_immediately());
  Stopwatch since_release;
  const std::jthread releasing([&] {
    std::this_thread::sleep_for(kUntilAsleep);
    since_release = Stopwatch();
    EXPECT_TRUE(holder.release());
  });
  Lock lock = handle("k");
  ASSERT_TRUE(lock.acquire(patiently()));
  EXPECT_LT(since_release.elapsed(), kSlack);
}

TEST_P(Conformance, C14_WaiterIsGrantedOnExpiry) {
  Lock holder = handle("k", 100ms);
  const Stopwatch since_grant;
  ASSERT_TRUE(holder.acquire_immediately());
  Lock lock = handle("k");
  ASSERT_TRUE(lock.acquire(patiently()));
  EXPECT_THAT(since_grant.elapsed(), IsWithin(100ms, 100ms + kSlack));
}

TEST_P(Conformance, C14_WaiterIsGrantedOnAnExpiryThatCameNearer) {
  Lock holder = handle("k", 20s);
  ASSERT_TRUE(holder.acquire_immediately());
  Stopwatch since_extension;
  const std::jthread shortening([&] {
    std::this_thread::sleep_for(kUntilAsleep);
    since_extension = Stopwatch();
    holder.extend(50ms);
  });
  Lock lock = handle("k");
  ASSERT_TRUE(lock.acquire(patiently()));
  EXPECT_THAT(since_extension.elapsed(), IsWithin(50ms, 50ms + kSlack));
}

TEST_P(Conformance, C14_WaiterIsNotGrantedOnAnExpiryThatMovedAway) {
  Lock holder = handle("k", 300ms);
  ASSERT_TRUE(holder.acquire_immediately());
  const std::jthread extending([&] {
    std::this_thread::sleep_for(kUntilAsleep);
    holder.extend(20s);
  });
  EXPECT_FALSE(handle("k").acquire({.timeout = 500ms, .retry_delay = retry_delay()}));
}

TEST_P(Conformance, C14_EveryOneOfManyWaitersIsGranted) {
  constexpr int kWaiters = 8;
  Lock holder = handle("k");
  ASSERT_TRUE(holder.acquire_immediately());
  std::atomic<int> granted = 0;
  Stopwatch since_release;
  {
    std::vector<std::jthread> waiters;
    for (int i = 0; i < kWaiters; ++i) {
      waiters.emplace_back([&] { granted += handle("k").run([] {}, patiently()) ? 1 : 0; });
    }
    std::this_thread::sleep_for(kUntilAsleep);
    since_release = Stopwatch();
    EXPECT_TRUE(holder.release());
  }
  EXPECT_EQ(granted, kWaiters);
  EXPECT_LT(since_release.elapsed(), 4 * kSlack) << "somebody was not woken by the one before";
}

// The key is freed between a waiter's look and its sleep, again and again.
TEST_P(Conformance, C14_C2_ReleaseJustBeforeTheSleepIsNotMissed) {
  std::atomic<bool> done = false;
  const std::jthread holding([&] {
    std::minstd_rand random;
    Lock holder = handle("k");
    // Who polls may miss every moment in which it is free.
    const Stopwatch all;
    for (int i = 0; i < 2000 && all.elapsed() < 2 * kSlack; ++i) {
      if (!holder.acquire_immediately()) continue;
      const Stopwatch held;
      const auto hold = std::chrono::microseconds(random() % 200);
      while (held.elapsed() < hold) std::this_thread::yield();
      EXPECT_TRUE(holder.release());
    }
    done = true;
  });
  Lock lock = handle("k");
  while (!done) {
    const Stopwatch watch;
    ASSERT_TRUE(lock.acquire(patiently()));
    EXPECT_LT(watch.elapsed(), 4 * kSlack);
    EXPECT_TRUE(lock.release());
  }
}

TEST_P(Conformance, C14_StopEndsTheWait) {
  Lock holder = handle("k");
  ASSERT_TRUE(holder.acquire_immediately());
  std::stop_source stop;
  Stopwatch since_stop;
  const std::jthread stopping([&] {
    std::this_thread::sleep_for(kUntilAsleep);
    since_stop = Stopwatch();
    stop.request_stop();
  });
  EXPECT_FALSE(handle("k").acquire(patiently(stop.get_token())));
  EXPECT_LT(since_stop.elapsed(), kSlack);
  EXPECT_TRUE(holder.release());
  EXPECT_TRUE(is_free("k"));
}

TEST_P(Conformance, C14_StopBeforeTheWaitLeaksNoLease) {
  std::stop_source stop;
  stop.request_stop();
  Lock lock = handle("k");
  const bool granted = lock.acquire(patiently(stop.get_token()));
  EXPECT_EQ(granted, !is_free("k"));
  EXPECT_EQ(granted, lock.release());

  Lock holder = handle("k");
  ASSERT_TRUE(holder.acquire_immediately());
  const Stopwatch watch;
  EXPECT_FALSE(lock.acquire(patiently(stop.get_token())));
  EXPECT_LT(watch.elapsed(), kSlack);
}

TEST_P(Conformance, C14_GrantWinsOverAStopThatComesAtTheSameTime) {
  constexpr int kRounds = 300;
  for (int round = 0; round < kRounds; ++round) {
    Lock holder = handle("k");
    ASSERT_TRUE(holder.acquire_immediately());
    Lock lock = handle("k");
    std::stop_source stop;
    std::barrier together(2);
    bool granted = false;
    {
      const std::jthread waiting([&] { granted = lock.acquire(patiently(stop.get_token())); });
      const std::jthread releasing([&] {
        together.arrive_and_wait();
        EXPECT_TRUE(holder.release());
      });
      together.arrive_and_wait();
      stop.request_stop();
    }
    ASSERT_EQ(granted, !is_free("k"));
    ASSERT_EQ(granted, lock.release());
  }
}

// Two wait; one gives up at the moment of the release. If the release woke that one, the other may wait until
// its retry_delay, and no longer.
class TwoWaiters {
 public:
  TwoWaiters(Lock holder, Lock quitter, Lock stayer)
      : holder_(std::move(holder)), quitter_(std::move(quitter)), stayer_(std::move(stayer)) {}

  void play(const AcquireOptions& quitters, const std::function<void()>& before_the_release) {
    constexpr auto kRetryDelay = 100ms;
    ASSERT_TRUE(holder_.acquire_immediately());
    std::jthread staying([&] {
      ASSERT_TRUE(stayer_.acquire({.timeout = 20s, .retry_delay = kRetryDelay}));
      granted_.store(std::chrono::steady_clock::now());
      EXPECT_TRUE(stayer_.release());
    });
    std::jthread quitting([&] {
      const bool granted = quitter_.acquire(quitters);
      EXPECT_EQ(quitter_.release(), granted);
    });
    std::this_thread::sleep_for(5ms);
    before_the_release();
    const auto released = std::chrono::steady_clock::now();
    EXPECT_TRUE(holder_.release());
    staying.join();
    quitting.join();
    EXPECT_LT(granted_.load() - released, kRetryDelay + kSlack);
  }

 private:
  Lock holder_;
  Lock quitter_;
  Lock stayer_;
  std::atomic<std::chrono::steady_clock::time_point> granted_;
};

TEST_P(Conformance, C15_WaiterThatTimesOutCostsTheNextNothing) {
  TwoWaiters waiters(handle("k"), handle("k"), handle("k"));
  for (int round = 0; round < 30; ++round) {
    const auto timeout = 5ms + 10us * round;
    waiters.play({.timeout = timeout, .retry_delay = retry_delay()}, [] {});
  }
}

TEST_P(Conformance, C15_WaiterThatIsStoppedCostsTheNextNothing) {
  TwoWaiters waiters(handle("k"), handle("k"), handle("k"));
  for (int round = 0; round < 30; ++round) {
    std::stop_source stop;
    waiters.play(patiently(stop.get_token()), [&] { stop.request_stop(); });
  }
}

}  // namespace
}  // namespace mortise::conformance
