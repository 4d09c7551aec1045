// How a holder learns that it lost: lost_token(), run() with a stop token, ensure_held().
#include <atomic>
#include <functional>
#include <stop_token>
#include <thread>
#include <tuple>
#include <utility>

#include "conformance/conformance.hpp"
#include "support/eventually.hpp"

namespace mortise::conformance {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::IsWithin;
using test::kSlack;
using test::Stopwatch;

bool is_stopped_in_the_end(const std::stop_token& token) {
  return eventually([&] { return token.stop_requested(); });
}

TEST_P(Conformance, LostTokenIsStoppedAtTheExpiryAndNotBefore) {
  constexpr auto kTtl = 200ms;
  Lock lock = handle("k", kTtl);
  const Stopwatch since_grant;
  ASSERT_TRUE(lock.acquire_immediately());
  const std::stop_token lost = lock.lost_token();
  EXPECT_TRUE(lost.stop_possible());
  EXPECT_FALSE(lost.stop_requested());
  ASSERT_TRUE(is_stopped_in_the_end(lost));
  EXPECT_THAT(since_grant.elapsed(), IsWithin(kTtl, kTtl + kSlack));
  EXPECT_TRUE(lock.lost_token().stop_requested()) << "asked for again, it is the same";
}

TEST_P(Conformance, LostTokenIsStoppedWhenAnotherHandleReleases) {
  constexpr auto kTtl = 900ms;
  Lock lock = handle("k", kTtl);
  ASSERT_TRUE(lock.acquire_immediately());
  Lock other = restore_lock(lock.serialize(), connect());
  const std::stop_token lost = lock.lost_token();
  const Stopwatch since_release;
  ASSERT_TRUE(other.release());
  ASSERT_TRUE(is_stopped_in_the_end(lost));
  EXPECT_LT(since_release.elapsed(), kTtl / 3 + kSlack);
}

TEST_P(Conformance, LostTokenOfARestoredHandleIsStoppedToo) {
  constexpr auto kTtl = 200ms;
  Lock lock = handle("k", kTtl);
  ASSERT_TRUE(lock.acquire_immediately());
  Lock restored = restore_lock(lock.serialize(), connect());
  const std::stop_token lost = restored.lost_token();
  EXPECT_FALSE(lost.stop_requested());
  EXPECT_TRUE(is_stopped_in_the_end(lost));
  EXPECT_THROW(restored.ensure_held(), LockNotHeldError);
}

// Whoever has the key by now keeps it for long.
TEST_P(Conformance, LostTokenOfALeaseThatIsLostAlreadyIsStoppedAtOnce) {
  Lock lock = handle("k", 20s);
  ASSERT_TRUE(lock.acquire_immediately());
  lock.extend(1ms);
  Lock next = handle("k", 20s);
  ASSERT_TRUE(next.acquire(patiently()));
  const Stopwatch watch;
  EXPECT_TRUE(is_stopped_in_the_end(lock.lost_token()));
  EXPECT_LT(watch.elapsed(), kSlack);
  EXPECT_FALSE(next.is_expired());
}

TEST_P(Conformance, LostTokenIsNotStoppedByWhatTheHandleDoesItself) {
  constexpr auto kTtl = 100ms;
  const std::function<void(Lock&)> ends[] = {
      [](Lock& lock) { EXPECT_TRUE(lock.release()); },
      [](Lock& lock) { EXPECT_TRUE(lock.detach()); },
      [](Lock& lock) { std::ignore = lock.serialize(); },
      [](Lock& lock) { const Lock ended = std::move(lock); },
  };
  for (const auto& end : ends) {
    Lock lock = handle("k", kTtl);
    ASSERT_TRUE(lock.acquire(patiently()));
    const std::stop_token lost = lock.lost_token();
    end(lock);
    std::this_thread::sleep_for(2 * kTtl);
    EXPECT_FALSE(lost.stop_requested());
  }
}

TEST_P(Conformance, LostTokenFollowsTheExpiry) {
  Lock lock = handle("k", 500ms);
  ASSERT_TRUE(lock.acquire_immediately());
  const std::stop_token lost = lock.lost_token();
  lock.extend(20s);
  std::this_thread::sleep_for(700ms);
  EXPECT_FALSE(lost.stop_requested());
  const Stopwatch since_extension;
  lock.extend(50ms);
  ASSERT_TRUE(is_stopped_in_the_end(lost));
  EXPECT_THAT(since_extension.elapsed(), IsWithin(50ms, 50ms + kSlack));
}

TEST_P(Conformance, LostTokenIsOfTheNewLeaseAfterANewGrant) {
  Lock lock = handle("k", 20s);
  ASSERT_TRUE(lock.acquire_immediately());
  const std::stop_token first = lock.lost_token();
  lock.extend(1ms);
  ASSERT_TRUE(is_stopped_in_the_end(first));
  ASSERT_TRUE(lock.acquire(patiently()));
  EXPECT_FALSE(lock.lost_token().stop_requested());
}

TEST_P(Conformance, LostTokenNeedsALease) {
  Lock lock = handle("k");
  EXPECT_THROW(std::ignore = lock.lost_token(), LockNotHeldError);
  ASSERT_TRUE(lock.acquire_immediately());
  Lock moved = std::move(lock);
  EXPECT_THROW(std::ignore = lock.lost_token(), LockNotHeldError);
  ASSERT_TRUE(moved.release());
  EXPECT_THROW(std::ignore = moved.lost_token(), LockNotHeldError);
}

TEST_P(Conformance, LostTokenCallsBackWhenAKeptAliveLeaseIsHeldNoLonger) {
  constexpr auto kTtl = 600ms;
  Lock lock = handle("k", kTtl);
  ASSERT_TRUE(lock.acquire({.keep_alive = true}));
  std::atomic<bool> called = false;
  const std::stop_callback on_loss(lock.lost_token(), [&] { called = true; });
  std::this_thread::sleep_for(2 * kTtl);
  EXPECT_FALSE(called) << "it is kept alive";
  EXPECT_TRUE(lock.release());
  EXPECT_FALSE(called);
}

TEST_P(Conformance, C11_RunGivesItsFunctionTheLostToken) {
  const auto lost =
      handle("k", 100ms).run([](std::stop_token token) { return is_stopped_in_the_end(token); });
  EXPECT_EQ(lost.result(), true);
  EXPECT_TRUE(lost.lost());

  std::stop_token after;
  const auto kept = handle("k", 20s).run(
      [&](std::stop_token token) {
        after = token;
        return token.stop_requested();
      },
      patiently());
  EXPECT_EQ(kept.result(), false);
  EXPECT_FALSE(kept.lost());
  EXPECT_FALSE(after.stop_requested()) << "run's own release is no loss";
}

TEST_P(Conformance, EnsureHeldDoesNotThrowWhileHeld) {
  Lock lock = handle("k", 20s);
  ASSERT_TRUE(lock.acquire_immediately());
  EXPECT_NO_THROW(lock.ensure_held());
  lock.extend(60s);
  EXPECT_NO_THROW(lock.ensure_held());
  lock.extend(5s);
  EXPECT_NO_THROW(lock.ensure_held());
  EXPECT_FALSE(lock.acquire_immediately());
  EXPECT_NO_THROW(lock.ensure_held()) << "a refusal changes nothing";
  Lock moved = std::move(lock);
  EXPECT_NO_THROW(moved.ensure_held());
  Lock restored = restore_lock(moved.serialize(), connect());
  EXPECT_NO_THROW(restored.ensure_held());
  EXPECT_NO_THROW(moved.ensure_held());
  restored.extend(60s);
  EXPECT_NO_THROW(moved.ensure_held());
}

TEST_P(Conformance, EnsureHeldThrowsWithoutALease) {
  Lock lock = handle("k");
  EXPECT_THROW(lock.ensure_held(), LockNotHeldError) << "never acquired";
  ASSERT_TRUE(lock.acquire_immediately());
  Lock moved = std::move(lock);
  EXPECT_THROW(lock.ensure_held(), LockNotHeldError) << "moved from";
  Lock restored = restore_lock(moved.serialize(), connect());
  ASSERT_TRUE(moved.release());
  EXPECT_THROW(moved.ensure_held(), LockNotHeldError) << "released";
  EXPECT_THROW(restored.ensure_held(), LockNotHeldError) << "released by another handle";
  ASSERT_TRUE(moved.acquire_immediately());
  EXPECT_NO_THROW(moved.ensure_held());
  EXPECT_THROW(restored.ensure_held(), LockNotHeldError) << "the new lease is another one";
}

// Asked at every turn of a loop: held until the expiry, and then never again.
TEST_P(Conformance, EnsureHeldThrowsFromTheExpiryOn) {
  constexpr auto kTtl = 100ms;
  Lock lock = handle("k", kTtl);
  const Stopwatch since_grant;
  ASSERT_TRUE(lock.acquire_immediately());
  EXPECT_TRUE(eventually([&] {
    try {
      lock.ensure_held();
      return false;
    } catch (const LockNotHeldError&) {
      return true;
    }
  }));
  EXPECT_THAT(since_grant.elapsed(), IsWithin(kTtl, kTtl + kSlack));
  EXPECT_THROW(lock.ensure_held(), LockNotHeldError);
  Lock next = handle("k");
  ASSERT_TRUE(next.acquire_immediately());
  EXPECT_THROW(lock.ensure_held(), LockNotHeldError) << "held, but by somebody else";
}

// What a handle remembers of where its lease was does not survive the key.
TEST_P(Conformance, EnsureHeldThrowsThoughManyKeysCameAndWentSince) {
  Lock lock = handle("k");
  ASSERT_TRUE(lock.acquire_immediately());
  EXPECT_NO_THROW(lock.ensure_held());
  lock.extend(1ms);
  std::this_thread::sleep_for(20ms);
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(is_free(LockKey("key " + std::to_string(i))));
  EXPECT_THROW(lock.ensure_held(), LockNotHeldError);
  ASSERT_TRUE(lock.acquire_immediately());
  EXPECT_NO_THROW(lock.ensure_held());
}

}  // namespace
}  // namespace mortise::conformance
