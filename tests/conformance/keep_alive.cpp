// Leases that are renewed in the background until their release.
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "conformance/conformance.hpp"

namespace mortise::conformance {
namespace {

using namespace std::chrono_literals;
using test::IsWithin;
using test::kSlack;
using test::Stopwatch;

// Two thirds of it are what a busy machine may take for a renewal.
constexpr auto kTtl = 600ms;
constexpr auto kMuchLonger = 2 * kTtl;

TEST_P(Conformance, KeptAliveLeaseLastsUntilItsRelease) {
  Lock lock = handle("k", kTtl);
  ASSERT_TRUE(lock.acquire({.keep_alive = true}));
  const Stopwatch watch;
  while (watch.elapsed() < kMuchLonger) {
    ASSERT_FALSE(is_free("k"));
    std::this_thread::sleep_for(20ms);
  }
  EXPECT_FALSE(lock.is_expired());
  EXPECT_TRUE(lock.release());
  EXPECT_TRUE(is_free("k"));
}

TEST_P(Conformance, KeptAliveAfterAWaitToo) {
  Lock holder = handle("k");
  ASSERT_TRUE(holder.acquire_immediately());
  const std::jthread releasing([&] {
    std::this_thread::sleep_for(30ms);
    EXPECT_TRUE(holder.release());
  });
  Lock lock = handle("k", kTtl);
  ASSERT_TRUE(lock.acquire({.timeout = 30s, .retry_delay = retry_delay(), .keep_alive = true}));
  std::this_thread::sleep_for(kMuchLonger);
  EXPECT_NO_THROW(lock.ensure_held());
  EXPECT_TRUE(lock.release());
}

TEST_P(Conformance, KeptAliveRunMayTakeLongerThanItsTtl) {
  const auto result =
      handle("k", kTtl).run([] { std::this_thread::sleep_for(kMuchLonger); }, {.keep_alive = true});
  EXPECT_TRUE(result);
  EXPECT_FALSE(result.lost());
  EXPECT_TRUE(is_free("k"));
}

TEST_P(Conformance, KeptAliveLeaseGoesWithTheHandleThatItIsMovedTo) {
  Lock from = handle("k", kTtl);
  ASSERT_TRUE(from.acquire({.keep_alive = true}));
  Lock to = std::move(from);
  Lock assigned = handle("other", kTtl);
  ASSERT_TRUE(assigned.acquire({.keep_alive = true}));
  assigned = std::move(to);
  EXPECT_TRUE(is_free("other"));
  std::this_thread::sleep_for(kMuchLonger);
  EXPECT_NO_THROW(assigned.ensure_held());
  EXPECT_TRUE(assigned.release());
}

TEST_P(Conformance, KeptAliveLeaseThatWasExtendedIsKeptAlive) {
  Lock lock = handle("k", 20s);
  ASSERT_TRUE(lock.acquire({.keep_alive = true}));
  lock.extend(kTtl);
  std::this_thread::sleep_for(kMuchLonger);
  EXPECT_NO_THROW(lock.ensure_held());
  EXPECT_TRUE(lock.release());
}

// It is renewed no more, and ends by itself.
TEST_P(Conformance, C16_LeaseThatIsHandedOverIsKeptAliveNoLonger) {
  for (const bool serializes : {false, true}) {
    Lock lock = handle("k", kTtl);
    ASSERT_TRUE(lock.acquire({.keep_alive = true}));
    std::this_thread::sleep_for(20ms);
    if (serializes) {
      std::ignore = lock.serialize();
    } else {
      ASSERT_TRUE(lock.detach());
    }
    const Stopwatch watch;
    ASSERT_TRUE(handle("k").acquire(patiently()));
    EXPECT_LT(watch.elapsed(), kTtl + kSlack);
  }
}

TEST_P(Conformance, C16_KeptAliveHandleReleasesAtItsEnd) {
  {
    Lock lock = handle("k", kTtl);
    ASSERT_TRUE(lock.acquire({.keep_alive = true}));
  }
  EXPECT_TRUE(is_free("k"));
}

// A renewal that comes late does not reach the next lease of the key, though it is of the same handle.
TEST_P(Conformance, C10_NextLeaseOfTheHandleIsNotKeptAlive) {
  Lock lock = handle("k", kTtl);
  ASSERT_TRUE(lock.acquire({.keep_alive = true}));
  ASSERT_TRUE(lock.release());
  const Stopwatch since_grant;
  ASSERT_TRUE(lock.acquire_immediately());
  ASSERT_TRUE(handle("k").acquire(patiently()));
  EXPECT_THAT(since_grant.elapsed(), IsWithin(kTtl, kTtl + kSlack));
  EXPECT_TRUE(lock.is_expired());
}

TEST_P(Conformance, ManyLeasesAreKeptAlive) {
  std::vector<Lock> locks;
  for (int i = 0; i < 50; ++i) {
    locks.push_back(handle(LockKey("key " + std::to_string(i)), kTtl));
    ASSERT_TRUE(locks.back().acquire({.keep_alive = true}));
  }
  std::this_thread::sleep_for(kMuchLonger);
  for (Lock& lock : locks) EXPECT_NO_THROW(lock.ensure_held());
  for (Lock& lock : locks) EXPECT_TRUE(lock.release());
}

}  // namespace
}  // namespace mortise::conformance
