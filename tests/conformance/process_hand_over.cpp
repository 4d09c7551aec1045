// A lease that goes from one process to another: C16, C20.
#include <signal.h>
#include <unistd.h>

#include <thread>
#include <tuple>

#include "conformance/conformance.hpp"

namespace mortise::conformance {
namespace {

using namespace std::chrono_literals;
using test::Channel;
using test::ChildProcess;
using test::IsWithin;
using test::kSlack;
using test::Stopwatch;
using testing::Optional;

// Acquires "k", sends the text, and ends when it is told to.
template <class Handle>
ChildProcess giver(const Handle& handle) {
  return ChildProcess([&](Channel& test) {
    Lock lock = handle();
    test.send(lock.acquire_immediately() ? lock.serialize() : "refused");
    std::ignore = test.receive();
  });
}

TEST_P(ProcessConformance, C16_SerializedLeaseOutlivesItsProcess) {
  for (const bool killed : {false, true}) {
    ChildProcess gives = giver([&] { return handle("k"); });
    const std::string text = gives.receive();
    if (!killed) gives.send("end");
    EXPECT_EQ(killed ? gives.kill() : gives.wait(), killed ? 128 + SIGKILL : 0);
    EXPECT_FALSE(is_free("k"));

    ChildProcess takes([&](Channel& test) {
      if (chdir("/") != 0) _exit(1);
      Lock restored = restore_lock(text, connect());
      test.send(restored.is_locked() && !restored.is_expired() ? "held" : "lost");
      restored.extend(60s);
      std::ignore = test.receive();
      test.send(restored.release() ? "released" : "lost");
      test.send(restore_lock(text, connect()).release() ? "released" : "lost");
    });
    EXPECT_EQ(takes.receive(), "held");
    EXPECT_FALSE(is_free("k"));
    takes.send("release it");
    EXPECT_EQ(takes.receive(), "released");
    EXPECT_TRUE(is_free("k"));
    EXPECT_EQ(takes.receive(), "lost") << "the second release of one lease";
  }
}

TEST_P(ProcessConformance, C16_LeaseOutlivesTheProcessThatRestoredItToo) {
  ChildProcess gives = giver([&] { return handle("k"); });
  const std::string text = gives.receive();
  gives.kill();
  for (const bool killed : {false, true}) {
    ChildProcess takes([&](Channel& test) {
      Lock restored = restore_lock(text, connect());
      restored.extend(20s);
      test.send("extended");
      if (killed) pause();
    });
    ASSERT_EQ(takes.receive(), "extended");
    EXPECT_EQ(killed ? takes.kill() : takes.wait(), killed ? 128 + SIGKILL : 0);
    EXPECT_FALSE(is_free("k"));
  }
  EXPECT_TRUE(restore_lock(text, connect()).release());
}

TEST_P(ProcessConformance, C16_HandedOverLeaseEndsAtItsExpiry) {
  constexpr auto kTtl = 200ms;
  const Stopwatch since_grant;
  ChildProcess gives = giver([&] { return handle("k", kTtl); });
  const std::string text = gives.receive();
  gives.kill();
  Lock next = handle("k");
  ASSERT_TRUE(next.acquire(patiently()));
  EXPECT_THAT(since_grant.elapsed(), IsWithin(kTtl, kTtl + kSlack));
  Lock restored = restore_lock(text, connect());
  EXPECT_TRUE(restored.is_expired());
  EXPECT_THROW(restored.extend(), LockNotHeldError);
  EXPECT_FALSE(restored.release());
  EXPECT_TRUE(next.release());
}

TEST_P(ProcessConformance, C16_DetachedLeaseOutlivesItsProcessUntilItsExpiry) {
  constexpr auto kTtl = 200ms;
  const Stopwatch since_grant;
  ChildProcess detaches([&](Channel& test) {
    Lock lock = handle("k", kTtl);
    if (!lock.acquire_immediately()) _exit(1);
    test.send(lock.detach() ? "detached" : "lost");
    std::ignore = test.receive();
  });
  ASSERT_EQ(detaches.receive(), "detached");
  detaches.kill();
  Lock next = handle("k");
  ASSERT_TRUE(next.acquire(patiently()));
  EXPECT_THAT(since_grant.elapsed(), IsWithin(kTtl, kTtl + kSlack));
}

// The exception is for the lease that was handed over, not for the process.
TEST_P(ProcessConformance, C16_NextLeaseOfAProcessThatHandedOneOverEndsWithIt) {
  if (!GetParam().dead_holder_freed_at_once) GTEST_SKIP() << "in this store no lease ends with its process";
  ChildProcess child([&](Channel& test) {
    Lock lock = handle("k");
    if (!lock.acquire_immediately()) _exit(1);
    std::ignore = lock.serialize();
    if (!lock.release() || !lock.acquire_immediately()) _exit(1);
    test.send("granted");
    pause();
  });
  ASSERT_EQ(child.receive(), "granted");
  EXPECT_FALSE(is_free("k"));
  child.kill();
  EXPECT_TRUE(is_free("k"));
}

}  // namespace
}  // namespace mortise::conformance
