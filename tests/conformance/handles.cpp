// What becomes of a lease when its handle ends, moves, or is handed over: C16, C20. What others see of it:
// C21.
#include <algorithm>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "conformance/conformance.hpp"

namespace mortise::conformance {
namespace {

using namespace std::chrono_literals;
using test::IsWithin;
using test::kSlack;
using testing::Optional;

TEST_P(Conformance, C16_HandleThatAcquiredReleasesAtItsEnd) {
  {
    Lock lock = handle("k");
    ASSERT_TRUE(lock.acquire_immediately());
  }
  EXPECT_TRUE(is_free("k"));
}

TEST_P(Conformance, C16_TemporaryReleasesAtTheEndOfItsExpression) {
  EXPECT_TRUE(handle("k").acquire_immediately());
  EXPECT_TRUE(is_free("k"));
}

TEST_P(Conformance, C16_ExceptionReleases) {
  const auto throwing = [&] {
    Lock lock = handle("k");
    EXPECT_TRUE(lock.acquire_immediately());
    throw std::runtime_error("unwinding");
  };
  EXPECT_THROW(throwing(), std::runtime_error);
  EXPECT_TRUE(is_free("k"));
}

TEST_P(Conformance, C16_EachLockOfAVectorReleases) {
  std::vector<Lock> locks;
  for (const char* key : {"a", "b", "c", "d", "e"}) {
    locks.push_back(handle(key));
    ASSERT_TRUE(locks.back().acquire_immediately());
  }
  for (const char* key : {"a", "b", "c", "d", "e"}) EXPECT_FALSE(is_free(key));
  locks.erase(locks.begin() + 1);
  EXPECT_TRUE(is_free("b"));
  for (const char* key : {"a", "c", "d", "e"}) EXPECT_FALSE(is_free(key)) << key;
  locks.clear();
  for (const char* key : {"a", "b", "c", "d", "e"}) EXPECT_TRUE(is_free(key)) << key;
}

TEST_P(Conformance, C16_MovedFromHandleDoesNothing) {
  std::optional<Lock> from = handle("k");
  ASSERT_TRUE(from->acquire_immediately());
  Lock to = std::move(*from);
  EXPECT_FALSE(from->is_expired());
  EXPECT_THROW(from->extend(), LockNotHeldError);
  EXPECT_FALSE(from->release());
  from.reset();
  EXPECT_FALSE(is_free("k"));
  EXPECT_NO_THROW(to.extend());
  EXPECT_TRUE(to.release());
}

TEST_P(Conformance, C16_MoveAssignmentReleasesWhatTheTargetHeld) {
  Lock target = handle("old");
  ASSERT_TRUE(target.acquire_immediately());
  Lock source = handle("new");
  ASSERT_TRUE(source.acquire_immediately());
  target = std::move(source);
  EXPECT_TRUE(is_free("old"));
  EXPECT_FALSE(is_free("new"));
  EXPECT_EQ(target.key(), LockKey("new"));
  EXPECT_TRUE(target.release());
}

TEST_P(Conformance, C16_SwapKeepsBothLeases) {
  Lock a = handle("a");
  Lock b = handle("b");
  ASSERT_TRUE(a.acquire_immediately());
  ASSERT_TRUE(b.acquire_immediately());
  std::swap(a, b);
  EXPECT_FALSE(is_free("a"));
  EXPECT_FALSE(is_free("b"));
  EXPECT_TRUE(a.release());
  EXPECT_TRUE(is_free("b"));
  EXPECT_FALSE(is_free("a"));
}

TEST_P(Conformance, C16_SerializedLeaseOutlivesItsHandle) {
  std::string text;
  {
    Lock lock = handle("k");
    ASSERT_TRUE(lock.acquire_immediately());
    text = lock.serialize();
  }
  EXPECT_FALSE(is_free("k"));
  EXPECT_TRUE(restore_lock(text, connect()).release());
  EXPECT_TRUE(is_free("k"));
}

TEST_P(Conformance, C16_DetachedLeaseOutlivesItsHandle) {
  std::string text;
  {
    Lock lock = handle("k", 500ms);
    ASSERT_TRUE(lock.acquire_immediately());
    EXPECT_TRUE(lock.detach());
    EXPECT_FALSE(lock.is_expired());
  }
  EXPECT_FALSE(is_free("k"));
  EXPECT_TRUE(handle("k").acquire(patiently())) << "it ends at its ttl";
}

TEST_P(Conformance, C16_DetachedLeaseIsStillTheHandlesOwn) {
  Lock lock = handle("k");
  ASSERT_TRUE(lock.acquire_immediately());
  EXPECT_TRUE(lock.detach());
  EXPECT_NO_THROW(lock.extend());
  const std::string text = lock.serialize();
  EXPECT_FALSE(restore_lock(text, connect()).is_expired());
  EXPECT_TRUE(lock.release());
  EXPECT_TRUE(is_free("k"));
}

TEST_P(Conformance, C16_DetachNeedsALease) {
  Lock lock = handle("k");
  EXPECT_FALSE(lock.detach());
  ASSERT_TRUE(lock.acquire_immediately());
  ASSERT_TRUE(lock.release());
  EXPECT_FALSE(lock.detach());
}

// The exception is for the lease that was handed over, not for the handle.
TEST_P(Conformance, C16_NextLeaseOfAHandleThatSerializedReleasesAtItsEnd) {
  {
    Lock lock = handle("k");
    ASSERT_TRUE(lock.acquire_immediately());
    std::ignore = lock.serialize();
    ASSERT_TRUE(lock.release());
    ASSERT_TRUE(lock.acquire_immediately());
  }
  EXPECT_TRUE(is_free("k"));
}

TEST_P(Conformance, C16_RestoredHandleNeverReleasesAtItsEnd) {
  Lock lock = handle("k");
  ASSERT_TRUE(lock.acquire_immediately());
  { Lock restored = restore_lock(lock.serialize(), connect()); }
  EXPECT_FALSE(is_free("k"));
  EXPECT_TRUE(lock.release());
}

TEST_P(Conformance, C16_RestoredHandleThatAcquiresReleasesAtItsEnd) {
  Lock lock = handle("k");
  ASSERT_TRUE(lock.acquire_immediately());
  {
    Lock restored = restore_lock(lock.serialize(), connect());
    ASSERT_TRUE(restored.release());
    ASSERT_TRUE(restored.acquire_immediately());
  }
  EXPECT_TRUE(is_free("k"));
}

TEST_P(Conformance, C20_RestoredHandleIsTheHolder) {
  Lock lock = handle("k", 20s);
  ASSERT_TRUE(lock.acquire_immediately());
  Lock restored = restore_lock(lock.serialize(), connect());
  EXPECT_EQ(restored.key(), lock.key());
  EXPECT_EQ(restored.ttl(), lock.ttl());
  EXPECT_EQ(restored.fencing_token(), lock.fencing_token());
  EXPECT_TRUE(restored.is_locked());
  EXPECT_FALSE(restored.is_expired());
  EXPECT_THAT(restored.remaining_time(), Optional(IsWithin(20s - kSlack, 20s)));
  EXPECT_FALSE(restored.acquire_immediately()) << "not reentrant, the holder included";
  restored.extend(60s);
  EXPECT_THAT(lock.remaining_time(), Optional(IsWithin(60s - kSlack, 60s)));
  EXPECT_TRUE(restored.release());
  EXPECT_FALSE(restored.release());
  EXPECT_FALSE(lock.release());
  EXPECT_TRUE(is_free("k"));
}

TEST_P(Conformance, C20_TextIsOnePrintableLineAndStaysTheSame) {
  Lock lock = handle(std::string_view("new\nline \0 \xff \x1b[31m", 18));
  ASSERT_TRUE(lock.acquire_immediately());
  const std::string text = lock.serialize();
  EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; })) << text;
  EXPECT_EQ(lock.serialize(), text);
  EXPECT_EQ(restore_lock(text, connect()).serialize(), text);
  EXPECT_EQ(restore_lock(text, connect()).key(), lock.key());
}

TEST_P(Conformance, C20_SerializeNeedsAToken) {
  Lock lock = handle("k");
  EXPECT_THROW(std::ignore = lock.serialize(), LockNotHeldError);
  ASSERT_TRUE(lock.acquire_immediately());
  ASSERT_TRUE(lock.release());
  EXPECT_THROW(std::ignore = lock.serialize(), LockNotHeldError);
}

TEST_P(Conformance, C20_TextMeansNothingInAnotherPlace) {
  Lock lock = handle("k");
  ASSERT_TRUE(lock.acquire_immediately());
  const auto elsewhere = GetParam().make()();
  Lock restored = restore_lock(lock.serialize(), elsewhere);
  EXPECT_FALSE(restored.is_locked());
  EXPECT_TRUE(restored.is_expired());
  EXPECT_THROW(restored.extend(), LockNotHeldError);
  EXPECT_FALSE(restored.release());
  EXPECT_TRUE(lock.release());
}

TEST_P(Conformance, C20_PrintingAHandleTellsItsKeyAndNoToken) {
  const auto printed = [](const Lock& lock) {
    std::ostringstream out;
    out << lock;
    return out.str();
  };
  Lock lock = handle("invoice:42");
  ASSERT_TRUE(lock.acquire_immediately());
  const std::string first = printed(lock);
  ASSERT_TRUE(lock.release());
  ASSERT_TRUE(lock.acquire_immediately());
  EXPECT_EQ(printed(lock), first) << "nothing in it may differ with the token";
  EXPECT_THAT(first, testing::HasSubstr("invoice:42"));
}

TEST_P(Conformance, C21_ConnectionsSeeTheSameStateAtOnce) {
  const auto mine = connect();
  const auto theirs = connect();
  const OwnerToken owner = OwnerToken::generate();
  ASSERT_TRUE(mine->acquire("k", owner, 20s));
  EXPECT_TRUE(theirs->is_locked("k"));
  EXPECT_TRUE(theirs->is_held_by("k", owner));
  EXPECT_FALSE(theirs->acquire("k", OwnerToken::generate(), 20s));
  EXPECT_TRUE(theirs->extend("k", owner, 60s)) << "the token decides, not the connection";
  EXPECT_THAT(mine->remaining_time("k"), Optional(IsWithin(60s - kSlack, 60s)));
  EXPECT_TRUE(theirs->release("k", owner));
  EXPECT_FALSE(mine->is_locked("k"));
  EXPECT_FALSE(mine->is_held_by("k", owner));
  EXPECT_FALSE(mine->release("k", owner));
}

TEST_P(Conformance, C21_ClosingAConnectionEndsNoLease) {
  const OwnerToken owner = OwnerToken::generate();
  ASSERT_TRUE(connect()->acquire("k", owner, 20s));
  const auto later = connect();
  EXPECT_TRUE(later->is_held_by("k", owner));
  EXPECT_TRUE(later->release("k", owner));
}

}  // namespace
}  // namespace mortise::conformance
