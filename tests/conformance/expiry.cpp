// When a lease ends by itself: C04, C05, C08, C19.
#include <limits>
#include <thread>

#include "conformance/conformance.hpp"

namespace mortise::conformance {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using test::IsWithin;
using test::kSlack;
using test::Stopwatch;
using testing::Optional;

TEST_P(Conformance, C04_LeaseEndsAtItsTtlAndNeverEarlier) {
  for (const auto ttl : {1ms, 2ms, 7ms, 50ms, 120ms}) {
    Lock holder = handle("k", ttl);
    Lock next = handle("k");
    const Stopwatch since_the_grant;
    ASSERT_TRUE(holder.acquire_immediately());
    while (!next.acquire_immediately()) std::this_thread::yield();
    EXPECT_THAT(since_the_grant.elapsed(), IsWithin(ttl, ttl + kSlack));
  }
}

TEST_P(Conformance, C04_ExtendedLeaseEndsAtItsNewTtlAndNeverEarlier) {
  for (const auto ttl : {1ms, 2ms, 7ms, 50ms, 120ms}) {
    Lock holder = handle("k");
    Lock next = handle("k");
    ASSERT_TRUE(holder.acquire_immediately());
    const Stopwatch since_the_extension;
    holder.extend(ttl);
    while (!next.acquire_immediately()) std::this_thread::yield();
    EXPECT_THAT(since_the_extension.elapsed(), IsWithin(ttl, ttl + kSlack));
  }
}

// Holds a key for longer than `ttl` while somebody with that ttl waits for it.
class LongHold {
 public:
  LongHold(Lock lock, std::chrono::milliseconds ttl) : lock_(std::move(lock)) {
    EXPECT_TRUE(lock_.acquire_immediately());
    releasing_ = std::jthread([this, ttl] {
      std::this_thread::sleep_for(ttl + 100ms);
      released_at_ = steady_clock::now();
      EXPECT_TRUE(lock_.release());
    });
  }
  // Only after the waiter's grant. No grant was earlier than this.
  steady_clock::time_point released_at() {
    releasing_.join();
    return released_at_;
  }

 private:
  Lock lock_;
  steady_clock::time_point released_at_;
  std::jthread releasing_;
};

TEST_P(Conformance, C04_B3_TtlCountsFromTheGrantAndNotFromTheWait) {
  constexpr auto kTtl = 500ms;
  LongHold before(handle("k"), kTtl);
  Lock lock = handle("k", kTtl);
  ASSERT_TRUE(lock.acquire(patiently()));
  EXPECT_FALSE(lock.is_expired());
  EXPECT_THAT(lock.remaining_time(), Optional(IsWithin(1ms, kTtl)));
  const auto earliest_end = before.released_at() + kTtl;
  for (;;) {
    const bool free = is_free("k");
    if (steady_clock::now() >= earliest_end) break;
    ASSERT_FALSE(free);
    std::this_thread::sleep_for(10ms);
  }
}

TEST_P(Conformance, C04_TtlOfARunCountsFromTheGrantToo) {
  constexpr auto kTtl = 500ms;
  LongHold before(handle("k"), kTtl);
  const auto result = handle("k", kTtl).run(
      [&](Lock& lock) {
        EXPECT_FALSE(lock.is_expired());
        EXPECT_THAT(lock.remaining_time(), Optional(IsWithin(1ms, kTtl)));
        EXPECT_NO_THROW(lock.extend());
      },
      patiently());
  EXPECT_TRUE(result);
  EXPECT_FALSE(result.lost());
}

TEST_P(Conformance, C04_TtlOfARestoredLockCountsFromTheGrantToo) {
  constexpr auto kTtl = 500ms;
  LongHold before(handle("k"), kTtl);
  Lock lock = handle("k", kTtl);
  ASSERT_TRUE(lock.acquire(patiently()));
  Lock restored = restore_lock(lock.serialize(), connect());
  EXPECT_FALSE(restored.is_expired());
  EXPECT_THAT(restored.remaining_time(), Optional(IsWithin(1ms, kTtl)));
  EXPECT_NO_THROW(restored.extend());
  EXPECT_TRUE(restored.release());
}

TEST_P(Conformance, C05_ExpiredLeaseIsFreeForAllPurposes) {
  const auto store = connect();
  const OwnerToken owner = OwnerToken::generate();
  ASSERT_TRUE(store->acquire("k", owner, 1ms));
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(store->is_locked("k"));
  EXPECT_FALSE(store->is_held_by("k", owner));
  EXPECT_EQ(store->remaining_time("k"), std::nullopt);
  EXPECT_TRUE(is_free("k"));
}

TEST_P(Conformance, C05_KeyThatNobodyEverHeldIsFree) {
  const auto store = connect();
  EXPECT_FALSE(store->is_locked("k"));
  EXPECT_FALSE(store->is_held_by("k", OwnerToken::generate()));
  EXPECT_EQ(store->remaining_time("k"), std::nullopt);
  EXPECT_FALSE(store->release("k", OwnerToken::generate()));
  EXPECT_FALSE(store->extend("k", OwnerToken::generate(), 1s));
  EXPECT_FALSE(store->is_locked("k"));
}

TEST_P(Conformance, C05_RemainingTimeIsThatOfWhoeverHoldsTheKey) {
  Lock holder = handle("k", 20s);
  Lock other = handle("k", 1s);
  EXPECT_EQ(other.remaining_time(), std::nullopt);
  ASSERT_TRUE(holder.acquire_immediately());
  EXPECT_THAT(other.remaining_time(), Optional(IsWithin(20s - kSlack, 20s)));
  ASSERT_TRUE(holder.release());
  EXPECT_EQ(other.remaining_time(), std::nullopt);
}

TEST_P(Conformance, C08_B8_ExtendSetsAndNeverAdds) {
  Lock lock = handle("k", 20s);
  ASSERT_TRUE(lock.acquire_immediately());
  for (int i = 0; i < 100; ++i) lock.extend();
  EXPECT_THAT(lock.remaining_time(), Optional(IsWithin(20s - kSlack, 20s)));
  lock.extend(60s);
  EXPECT_THAT(lock.remaining_time(), Optional(IsWithin(60s - kSlack, 60s)));
  lock.extend(2s);
  EXPECT_THAT(lock.remaining_time(), Optional(IsWithin(2s - kSlack, 2s)));
  lock.extend();
  EXPECT_THAT(lock.remaining_time(), Optional(IsWithin(20s - kSlack, 20s)))
      << "of the handle's own ttl again";
}

TEST_P(Conformance, C08_ExtendMayShorten) {
  Lock lock = handle("k", 20s);
  ASSERT_TRUE(lock.acquire_immediately());
  lock.extend(1ms);
  std::this_thread::sleep_for(20ms);
  EXPECT_TRUE(lock.is_expired());
  EXPECT_TRUE(is_free("k"));
}

TEST_P(Conformance, C08_ExtendNeedsALease) {
  Lock lock = handle("k");
  EXPECT_THROW(lock.extend(), LockNotHeldError);
  ASSERT_TRUE(lock.acquire_immediately());
  ASSERT_TRUE(lock.release());
  EXPECT_THROW(lock.extend(), LockNotHeldError);
  EXPECT_FALSE(lock.is_locked());
}

TEST_P(Conformance, C19_BadTtlChangesNothing) {
  Lock lock = handle("k", 20s);
  ASSERT_TRUE(lock.acquire_immediately());
  EXPECT_THROW(lock.extend(0ms), std::invalid_argument);
  EXPECT_THROW(lock.extend(-1ms), std::invalid_argument);
  EXPECT_THROW(lock.extend(std::chrono::hours::max()), std::invalid_argument);
  EXPECT_THROW(lock.extend(std::chrono::duration<double>(std::numeric_limits<double>::quiet_NaN())),
               std::invalid_argument);
  EXPECT_THAT(lock.remaining_time(), Optional(IsWithin(20s - kSlack, 20s)));
  EXPECT_TRUE(lock.release());
}

TEST_P(Conformance, C19_LongestTtlIsKept) {
  constexpr auto kYear = std::chrono::hours(24 * 365);
  Lock lock = handle("k", kYear);
  ASSERT_TRUE(lock.acquire_immediately());
  EXPECT_THAT(lock.remaining_time(), Optional(IsWithin(kYear - kSlack, kYear)));
  EXPECT_FALSE(lock.is_expired());
  EXPECT_FALSE(is_free("k"));
  EXPECT_TRUE(lock.release());
}

}  // namespace
}  // namespace mortise::conformance
