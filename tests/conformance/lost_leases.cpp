// What remains of a lease that was lost: C06, C07, C09.
#include <optional>
#include <thread>

#include "conformance/conformance.hpp"

namespace mortise::conformance {
namespace {

using namespace std::chrono_literals;
using test::IsWithin;
using testing::Optional;

TEST_P(Conformance, C06_ReleaseOfALeaseThatSomebodyElseTookIsRefused) {
  Lock first = handle("k", 1ms);
  ASSERT_TRUE(first.acquire_immediately());
  Lock second = handle("k", 20s);
  ASSERT_TRUE(second.acquire(patiently()));
  EXPECT_FALSE(first.release());
  EXPECT_FALSE(second.is_expired());
  EXPECT_FALSE(is_free("k"));
  EXPECT_TRUE(second.release());
}

TEST_P(Conformance, C06_ExtendOfALeaseThatSomebodyElseTookIsRefused) {
  Lock first = handle("k", 1ms);
  ASSERT_TRUE(first.acquire_immediately());
  Lock second = handle("k", 20s);
  ASSERT_TRUE(second.acquire(patiently()));
  EXPECT_THROW(first.extend(), LockNotHeldError);
  EXPECT_THROW(first.extend(60s), LockNotHeldError);
  EXPECT_THAT(second.remaining_time(), Optional(IsWithin(1ms, 20s)));
  EXPECT_TRUE(second.release());
}

TEST_P(Conformance, C06_EndOfTheLosersHandleFreesNothing) {
  std::optional<Lock> first = handle("k", 1ms);
  ASSERT_TRUE(first->acquire_immediately());
  Lock second = handle("k", 20s);
  ASSERT_TRUE(second.acquire(patiently()));
  first.reset();
  EXPECT_FALSE(is_free("k"));
  EXPECT_TRUE(second.release());
}

TEST_P(Conformance, C06_LoserCanNeitherDetachNorHandOver) {
  Lock first = handle("k", 1ms);
  ASSERT_TRUE(first.acquire_immediately());
  Lock second = handle("k", 20s);
  ASSERT_TRUE(second.acquire(patiently()));
  EXPECT_FALSE(first.detach());
  Lock restored = restore_lock(first.serialize(), connect());
  EXPECT_TRUE(restored.is_expired());
  EXPECT_FALSE(restored.release());
  EXPECT_THROW(restored.extend(), LockNotHeldError);
  EXPECT_TRUE(second.release());
}

TEST_P(Conformance, C06_SameAtTheStore) {
  const auto store = connect();
  const OwnerToken first = OwnerToken::generate();
  const OwnerToken second = OwnerToken::generate();
  ASSERT_TRUE(store->acquire("k", first, 1ms));
  ASSERT_TRUE(store->acquire_within("k", second, 20s, {.timeout = 30s, .retry_delay = 1ms}));
  EXPECT_FALSE(store->release("k", first));
  EXPECT_FALSE(store->extend("k", first, 60s));
  EXPECT_FALSE(store->outlive_process("k", first));
  EXPECT_FALSE(store->is_held_by("k", first));
  EXPECT_TRUE(store->is_held_by("k", second));
  EXPECT_THAT(store->remaining_time("k"), Optional(IsWithin(1ms, 20s)));
  EXPECT_TRUE(store->release("k", second));
}

TEST_P(Conformance, C06_TokenOpensOneKeyOnly) {
  const auto store = connect();
  const OwnerToken owner = OwnerToken::generate();
  ASSERT_TRUE(store->acquire("k", owner, 20s));
  ASSERT_TRUE(store->acquire("other", OwnerToken::generate(), 20s));
  EXPECT_FALSE(store->release("other", owner));
  EXPECT_FALSE(store->extend("other", owner, 60s));
  EXPECT_TRUE(store->is_locked("other"));
  EXPECT_TRUE(store->release("k", owner));
}

TEST_P(Conformance, C07_ReleaseAndExtendOfAnExpiredLeaseAreRefusedThoughNobodyTookIt) {
  Lock lock = handle("k", 1ms);
  ASSERT_TRUE(lock.acquire_immediately());
  std::this_thread::sleep_for(20ms);
  EXPECT_THROW(lock.extend(60s), LockNotHeldError);
  EXPECT_FALSE(lock.is_locked()) << "an extension must not make the lease anew";
  EXPECT_FALSE(lock.detach());
  EXPECT_FALSE(lock.is_locked());
  EXPECT_FALSE(lock.release());
  EXPECT_TRUE(is_free("k"));
}

TEST_P(Conformance, C07_SameAtTheStore) {
  const auto store = connect();
  const OwnerToken owner = OwnerToken::generate();
  ASSERT_TRUE(store->acquire("k", owner, 1ms));
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(store->extend("k", owner, 60s));
  EXPECT_FALSE(store->outlive_process("k", owner));
  EXPECT_FALSE(store->is_locked("k"));
  EXPECT_FALSE(store->release("k", owner));
}

TEST_P(Conformance, C07_SecondReleaseIsRefused) {
  Lock lock = handle("k");
  EXPECT_FALSE(lock.release());
  ASSERT_TRUE(lock.acquire_immediately());
  EXPECT_TRUE(lock.release());
  Lock next = handle("k");
  ASSERT_TRUE(next.acquire_immediately());
  EXPECT_FALSE(lock.release());
  EXPECT_TRUE(next.release());
}

TEST_P(Conformance, C09_IsExpiredIsFalseForWhoNeverLostAnything) {
  Lock lock = handle("k");
  EXPECT_FALSE(lock.is_expired()) << "never acquired";
  Lock holder = handle("k");
  ASSERT_TRUE(holder.acquire_immediately());
  EXPECT_FALSE(holder.is_expired()) << "held";
  EXPECT_FALSE(lock.acquire_immediately());
  EXPECT_FALSE(lock.is_expired()) << "refused";
  ASSERT_TRUE(holder.release());
  EXPECT_FALSE(holder.is_expired()) << "released";
  EXPECT_FALSE(holder.release());
  EXPECT_FALSE(holder.is_expired()) << "released twice";
}

TEST_P(Conformance, C09_IsExpiredIsTrueAfterALoss) {
  Lock lock = handle("k", 1ms);
  ASSERT_TRUE(lock.acquire_immediately());
  std::this_thread::sleep_for(20ms);
  EXPECT_TRUE(lock.is_expired());
  EXPECT_THROW(lock.extend(), LockNotHeldError);
  EXPECT_TRUE(lock.is_expired());
  Lock next = handle("k");
  ASSERT_TRUE(next.acquire_immediately());
  EXPECT_TRUE(lock.is_expired()) << "another's lease is not ours";
  EXPECT_FALSE(lock.release());
  EXPECT_TRUE(lock.is_expired()) << "a refused release is none";
}

TEST_P(Conformance, C09_IsExpiredIsFalseAgainAfterANewGrant) {
  Lock lock = handle("k");
  ASSERT_TRUE(lock.acquire_immediately());
  lock.extend(1ms);
  std::this_thread::sleep_for(20ms);
  ASSERT_TRUE(lock.is_expired());
  ASSERT_TRUE(lock.acquire_immediately());
  EXPECT_FALSE(lock.is_expired());
}

TEST_P(Conformance, C09_RestoredHandleKnowsItToo) {
  Lock holder = handle("k");
  ASSERT_TRUE(holder.acquire_immediately());
  Lock restored = restore_lock(holder.serialize(), connect());
  EXPECT_FALSE(restored.is_expired());
  ASSERT_TRUE(holder.release());
  EXPECT_TRUE(restored.is_expired()) << "it restored a lease, and did not release it";
}

}  // namespace
}  // namespace mortise::conformance
