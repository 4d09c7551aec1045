// Signals during a wait: a signal is not a timeout, and a wait does not hold up a signal (C13, C14, C15).
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <stop_token>
#include <thread>

#include "conformance/conformance.hpp"

namespace mortise::conformance {
namespace {

using namespace std::chrono_literals;
using test::Channel;
using test::ChildProcess;
using test::IsWithin;
using test::kSlack;
using test::Stopwatch;

volatile sig_atomic_t handled = 0;
int reports_to = -1;

void count(int) {
  handled = handled + 1;
}

void report(int) {
  const ssize_t sent = write(reports_to, "handled", 7);
  if (sent != 7) _exit(1);
}

void handle_signal(int number, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(number, &action, nullptr);
}

TEST_P(ProcessConformance, C13_D6_SignalsNeitherEndAWaitNorProlongIt) {
  for (const int flags : {0, SA_RESTART}) {
    constexpr auto kTimeout = 200ms;
    Lock lock = handle("k");
    ASSERT_TRUE(lock.acquire_immediately());
    ChildProcess interrupted([&](Channel& test) {
      handle_signal(SIGUSR1, count, flags);
      handle_signal(SIGALRM, count, flags);
      const itimerval often = {{0, 1000}, {0, 1000}};
      setitimer(ITIMER_REAL, &often, nullptr);
      Lock waiting = handle("k");
      test.send("waiting");
      const Stopwatch watch;
      const bool granted = waiting.acquire({.timeout = kTimeout, .retry_delay = retry_delay()});
      const auto elapsed = watch.elapsed();
      if (handled < 10) test.send("too few signals to mean anything");
      test.send(!granted && elapsed >= kTimeout && elapsed < kTimeout + kSlack ? "timed out" : "wrong");
      test.send(waiting.acquire(patiently()) ? "granted" : "refused");
    });
    ASSERT_EQ(interrupted.receive(), "waiting");
    for (int i = 0; i < 100; ++i) {
      interrupted.signal(SIGUSR1);
      std::this_thread::sleep_for(3ms);
    }
    EXPECT_EQ(interrupted.receive(), "timed out");
    const Stopwatch since_release;
    ASSERT_TRUE(lock.release());
    EXPECT_EQ(interrupted.receive(), "granted");
    EXPECT_LT(since_release.elapsed(), kSlack);
    EXPECT_EQ(interrupted.wait(), 0);
  }
}

TEST_P(ProcessConformance, C15_D6_HandlersRunWhileTheirProcessWaits) {
  Lock lock = handle("k");
  ASSERT_TRUE(lock.acquire_immediately());
  ChildProcess waiting([&](Channel& test) {
    reports_to = test.descriptor();
    handle_signal(SIGUSR1, report, 0);
    Lock waits = handle("k");
    test.send("waiting");
    test.send(waits.acquire(patiently()) ? "granted" : "refused");
  });
  ASSERT_EQ(waiting.receive(), "waiting");
  for (int i = 0; i < 10; ++i) {
    std::this_thread::sleep_for(5ms);
    const Stopwatch since_signal;
    waiting.signal(SIGUSR1);
    EXPECT_EQ(waiting.receive(), "handled");
    EXPECT_LT(since_signal.elapsed(), kSlack);
  }
  ASSERT_TRUE(lock.release());
  EXPECT_EQ(waiting.receive(), "granted");
}

TEST_P(ProcessConformance, C15_D6_WaiterThatIsTerminatedDiesAtOnceAndLeavesNothing) {
  Lock lock = handle("k");
  ASSERT_TRUE(lock.acquire_immediately());
  ChildProcess waiting = waiter("k", {.timeout = 600s, .retry_delay = 600s});
  ASSERT_EQ(waiting.receive(), "waiting");
  std::this_thread::sleep_for(30ms);
  const Stopwatch since_signal;
  waiting.signal(SIGTERM);
  EXPECT_EQ(waiting.wait(), 128 + SIGTERM);
  EXPECT_LT(since_signal.elapsed(), kSlack);

  ChildProcess next = waiter("k", {.timeout = 20s, .retry_delay = 100ms});
  ASSERT_EQ(next.receive(), "waiting");
  ASSERT_TRUE(lock.release());
  EXPECT_EQ(next.receive(), "granted");
}

// The program's own way to end: its handler tells a thread of its own, which requests the stop.
TEST_P(ProcessConformance, C14_HandlerOfSigtermMayEndTheWait) {
  Lock lock = handle("k");
  ASSERT_TRUE(lock.acquire_immediately());
  ChildProcess waiting([&](Channel& test) {
    std::array<int, 2> pipe_ends{};
    if (pipe(pipe_ends.data()) != 0) _exit(1);
    reports_to = pipe_ends[1];
    handle_signal(SIGTERM, report, 0);
    std::stop_source stop;
    const std::jthread stopper([&] {
      char byte = 0;
      while (read(pipe_ends[0], &byte, 1) != 1) continue;
      stop.request_stop();
    });
    test.send("waiting");
    test.send(handle("k").acquire(patiently(stop.get_token())) ? "granted" : "stopped");
  });
  ASSERT_EQ(waiting.receive(), "waiting");
  std::this_thread::sleep_for(30ms);
  const Stopwatch since_signal;
  waiting.signal(SIGTERM);
  EXPECT_EQ(waiting.receive(), "stopped");
  EXPECT_LT(since_signal.elapsed(), kSlack);
  EXPECT_EQ(waiting.wait(), 0) << "it ended by itself";
  EXPECT_TRUE(lock.release());
  EXPECT_TRUE(is_free("k"));
}

}  // namespace
}  // namespace mortise::conformance
