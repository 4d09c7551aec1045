// A Lock where the standard library takes a mutex: Cpp17TimedLockable.
#include <chrono>
#include <concepts>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "conformance/conformance.hpp"

namespace mortise::conformance {
namespace {

using namespace std::chrono_literals;
using test::IsWithin;
using test::kSlack;
using test::Stopwatch;

// [thread.req.lockable.timed]
template <class L>
concept TimedLockable = requires(L& lockable, std::chrono::milliseconds duration,
                                 std::chrono::steady_clock::time_point steady,
                                 std::chrono::system_clock::time_point system) {
  { lockable.lock() } -> std::same_as<void>;
  { lockable.unlock() }
  noexcept->std::same_as<void>;
  { lockable.try_lock() } -> std::convertible_to<bool>;
  { lockable.try_lock_for(duration) } -> std::convertible_to<bool>;
  { lockable.try_lock_until(steady) } -> std::convertible_to<bool>;
  { lockable.try_lock_until(system) } -> std::convertible_to<bool>;
};
static_assert(TimedLockable<Lock>);

TEST_P(Conformance, StandardUniqueLockHoldsForItsScope) {
  Lock lock = handle("k");
  {
    const std::unique_lock guard(lock);
    EXPECT_TRUE(guard.owns_lock());
    EXPECT_FALSE(is_free("k"));
  }
  EXPECT_TRUE(is_free("k"));
  { const std::lock_guard guard(lock); }
  EXPECT_TRUE(is_free("k"));
}

TEST_P(Conformance, StandardUniqueLockTriesAndWaitsAsItIsTold) {
  Lock holder = handle("k");
  ASSERT_TRUE(holder.acquire_immediately());
  Lock lock = handle("k");
  EXPECT_FALSE(std::unique_lock(lock, std::try_to_lock).owns_lock());
  const Stopwatch watch;
  EXPECT_FALSE(std::unique_lock(lock, 50ms).owns_lock());
  EXPECT_THAT(watch.elapsed(), IsWithin(50ms, 50ms + kSlack));
  EXPECT_FALSE(std::unique_lock(lock, std::chrono::steady_clock::now() + 50ms).owns_lock());
  EXPECT_FALSE(std::unique_lock(lock, std::chrono::system_clock::now() + 50ms).owns_lock());
  EXPECT_FALSE(std::unique_lock(lock, std::chrono::steady_clock::now() - 50ms).owns_lock());
  EXPECT_THAT(watch.elapsed(), IsWithin(140ms, 150ms + 3 * kSlack))
      << "the wall clock may be slewed a little";
  EXPECT_FALSE(is_free("k")) << "no guard released what it did not own";

  ASSERT_TRUE(holder.release());
  EXPECT_TRUE(std::unique_lock(lock, std::try_to_lock).owns_lock());
  EXPECT_TRUE(std::unique_lock(lock, 50ms).owns_lock());
  EXPECT_TRUE(std::unique_lock(lock, std::chrono::steady_clock::now() - 50ms).owns_lock());
  EXPECT_TRUE(is_free("k"));
  std::unique_lock deferred(lock, std::defer_lock);
  EXPECT_FALSE(deferred.owns_lock());
  EXPECT_TRUE(deferred.try_lock_for(1s));
  EXPECT_FALSE(is_free("k"));
  deferred.unlock();
  EXPECT_TRUE(is_free("k"));
  ASSERT_TRUE(lock.acquire_immediately());
  { const std::unique_lock adopted(lock, std::adopt_lock); }
  EXPECT_TRUE(is_free("k"));
}

TEST_P(Conformance, StandardLockWaitsAndKeepsTheLeaseAlive) {
  constexpr auto kTtl = 600ms;
  Lock holder = handle("k");
  ASSERT_TRUE(holder.acquire_immediately());
  const std::jthread releasing([&] {
    std::this_thread::sleep_for(30ms);
    EXPECT_TRUE(holder.release());
  });
  Lock lock = handle("k", kTtl);
  lock.lock();
  std::this_thread::sleep_for(2 * kTtl);
  EXPECT_NO_THROW(lock.ensure_held());
  lock.unlock();
  EXPECT_TRUE(is_free("k"));
}

TEST_P(Conformance, StandardLockOfWhoHoldsTheKeyThrows) {
  Lock lock = handle("k", 20s);
  lock.lock();
  try {
    lock.lock();
    ADD_FAILURE() << "granted twice";
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code(), std::errc::resource_deadlock_would_occur);
  }
  EXPECT_FALSE(lock.try_lock());
  EXPECT_NO_THROW(lock.ensure_held());
  lock.unlock();
}

TEST_P(Conformance, StandardLockOfWhoLostTheKeyWaitsForIt) {
  Lock lock = handle("k", 20s);
  ASSERT_TRUE(lock.acquire_immediately());
  lock.extend(1ms);
  std::this_thread::sleep_for(20ms);
  EXPECT_NO_THROW(lock.lock());
  EXPECT_NO_THROW(lock.ensure_held());
}

TEST_P(Conformance, StandardUnlockNeverThrows) {
  Lock lock = handle("k", 1ms);
  lock.unlock();
  ASSERT_TRUE(lock.acquire_immediately());
  std::this_thread::sleep_for(20ms);
  Lock next = handle("k");
  ASSERT_TRUE(next.acquire_immediately());
  lock.unlock();
  EXPECT_FALSE(is_free("k")) << "a lost lease is not the next one's";
}

// Two keys in opposite orders: std::scoped_lock backs off instead of waiting with one of them in hand.
TEST_P(Conformance, StandardScopedLockTakesTwoKeysInAnyOrder) {
  constexpr int kRounds = 100;
  int counter = 0;
  const auto work = [&](const char* one, const char* other) {
    Lock first = handle(one);
    Lock second = handle(other);
    for (int i = 0; i < kRounds; ++i) {
      const std::scoped_lock both(first, second);
      ++counter;
    }
  };
  {
    const std::jthread there(work, "a", "b");
    const std::jthread back(work, "b", "a");
  }
  EXPECT_EQ(counter, 2 * kRounds);
  EXPECT_TRUE(is_free("a") && is_free("b"));
}

TEST_P(Conformance, StandardConditionVariableReleasesWhileItWaits) {
  std::condition_variable_any changed;
  bool ready = false;
  const std::jthread notifying([&] {
    Lock lock = handle("k");
    {
      const std::unique_lock guard(lock);
      ready = true;
    }
    changed.notify_all();
  });
  Lock lock = handle("k");
  std::unique_lock guard(lock);
  EXPECT_TRUE(changed.wait_for(guard, 30s, [&] { return ready; }));
  EXPECT_TRUE(guard.owns_lock());
  EXPECT_NO_THROW(lock.ensure_held());
  EXPECT_FALSE(changed.wait_for(guard, 20ms, [] { return false; }));
  EXPECT_NO_THROW(lock.ensure_held());
}

}  // namespace
}  // namespace mortise::conformance
