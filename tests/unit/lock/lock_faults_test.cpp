// A store that fails (C11, C12), and the waits of a store that leaves them to LockStore (C13).
#include <gmock/gmock.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <tuple>

#include "mortise/mortise.hpp"
#include "support/map_lock_store.hpp"
#include "support/stopwatch.hpp"
#include "support/watchdog.hpp"

namespace mortise {
namespace {

using namespace std::chrono_literals;
using test::IsWithin;
using test::kSlack;
using test::Stopwatch;

// Fails while it is broken, and counts the attempts to acquire.
class FaultyStore final : public test::MapLockStore {
 public:
  bool broken = false;
  int attempts = 0;

  std::optional<Grant> acquire(const LockKey& key, OwnerToken owner, Ttl ttl) override {
    ++attempts;
    fail_if_broken();
    return MapLockStore::acquire(key, owner, ttl);
  }
  bool release(const LockKey& key, OwnerToken owner) override {
    fail_if_broken();
    return MapLockStore::release(key, owner);
  }
  bool extend(const LockKey& key, OwnerToken owner, Ttl ttl) override {
    fail_if_broken();
    return MapLockStore::extend(key, owner, ttl);
  }
  bool is_held_by(const LockKey& key, OwnerToken owner) override {
    fail_if_broken();
    return MapLockStore::is_held_by(key, owner);
  }
  bool is_locked(const LockKey& key) override {
    fail_if_broken();
    return MapLockStore::is_locked(key);
  }
  std::optional<std::chrono::milliseconds> remaining_time(const LockKey& key) override {
    fail_if_broken();
    return MapLockStore::remaining_time(key);
  }

 private:
  void fail_if_broken() const {
    if (broken) throw StoreError(StoreErrc::cannot_open, "the store is broken");
  }
};

class FaultyLock : public testing::Test {
 protected:
  Lock handle() { return mortise::lock("k", 20s, store); }

  test::Watchdog watchdog;
  std::shared_ptr<FaultyStore> store = std::make_shared<FaultyStore>();
};

TEST_F(FaultyLock, C12_FailureIsNeverARefusal) {
  Lock lock = handle();
  store->broken = true;
  EXPECT_THROW(std::ignore = lock.acquire_immediately(), StoreError);
  EXPECT_THROW(std::ignore = lock.acquire({.timeout = 100ms}), StoreError);
  EXPECT_THROW(std::ignore = lock.is_locked(), StoreError);
  EXPECT_THROW(std::ignore = lock.remaining_time(), StoreError);
}

TEST_F(FaultyLock, C12_FailureOfAHeldLockIsNeitherALossNorASuccess) {
  Lock lock = handle();
  ASSERT_TRUE(lock.acquire_immediately());
  store->broken = true;
  EXPECT_THROW(lock.release(), StoreError);
  EXPECT_THROW(lock.extend(), StoreError);
  EXPECT_THROW(std::ignore = lock.is_expired(), StoreError);
  EXPECT_THROW(lock.detach(), StoreError);
  EXPECT_THROW(std::ignore = lock.serialize(), StoreError)
      << "a lease that may end with its process is not handed over";
}

TEST_F(FaultyLock, C12_FunctionIsNotCalled) {
  Lock lock = handle();
  store->broken = true;
  bool called = false;
  EXPECT_THROW(std::ignore = lock.run([&] { called = true; }), StoreError);
  EXPECT_THROW(std::ignore = lock.run([&] { called = true; }, {.timeout = 50ms}), StoreError);
  EXPECT_FALSE(called);
}

TEST_F(FaultyLock, C12_FailureInTheMiddleOfAWaitIsNoTimeout) {
  Lock holder = handle();
  ASSERT_TRUE(holder.acquire_immediately());
  class BreaksLater final : public LockStore {
   public:
    std::optional<Grant> acquire(const LockKey&, OwnerToken, Ttl) override {
      if (++attempts == 3) throw StoreError(StoreErrc::cannot_open, "broken in the middle");
      return std::nullopt;
    }
    bool release(const LockKey&, OwnerToken) override { return false; }
    bool extend(const LockKey&, OwnerToken, Ttl) override { return false; }
    bool is_held_by(const LockKey&, OwnerToken) override { return false; }
    bool is_locked(const LockKey&) override { return true; }
    std::optional<std::chrono::milliseconds> remaining_time(const LockKey&) override { return 1s; }
    int attempts = 0;
  };
  Lock lock = mortise::lock("k", 20s, std::make_shared<BreaksLater>());
  EXPECT_THROW(std::ignore = lock.acquire({.timeout = 30s, .retry_delay = 1ms}), StoreError);
}

TEST_F(FaultyLock, C12_HandleWorksAgainWhenTheStoreDoes) {
  Lock lock = handle();
  store->broken = true;
  EXPECT_THROW(std::ignore = lock.acquire_immediately(), StoreError);
  store->broken = false;
  ASSERT_TRUE(lock.acquire_immediately());
  store->broken = true;
  EXPECT_THROW(lock.release(), StoreError);
  store->broken = false;
  EXPECT_FALSE(lock.is_expired());
  EXPECT_TRUE(lock.release()) << "the token is still known";
}

TEST_F(FaultyLock, C11_ResultStandsWhenTheReleaseFails) {
  {
    Lock lock = handle();
    const auto result = lock.run([&] {
      store->broken = true;
      return 42;
    });
    EXPECT_TRUE(result);
    EXPECT_EQ(result.result(), 42);
    EXPECT_TRUE(result.lost());
    store->broken = false;
  }
  EXPECT_FALSE(store->is_locked("k")) << "the handle's end is another chance to release";
}

TEST_F(FaultyLock, C11_ExceptionStandsWhenTheReleaseFails) {
  const auto fn = [&] {
    store->broken = true;
    throw std::runtime_error("mine");
  };
  EXPECT_THAT([&] { std::ignore = handle().run(fn); },
              testing::ThrowsMessage<std::runtime_error>(testing::StrEq("mine")));
}

TEST_F(FaultyLock, C16_EndAndMoveOfAHandleDoNotThrowWhenTheReleaseFails) {
  {
    Lock lock = handle();
    ASSERT_TRUE(lock.acquire_immediately());
    store->broken = true;
  }
  store->broken = false;
  EXPECT_TRUE(store->is_locked("k"));
  Lock other = mortise::lock("other", 20s, store);
  ASSERT_TRUE(other.acquire_immediately());
  store->broken = true;
  other = handle();
  EXPECT_EQ(other.key(), LockKey("k"));
}

TEST_F(FaultyLock, LockNeedsAStore) {
  EXPECT_THROW(std::ignore = mortise::lock("k", 20s, nullptr), std::invalid_argument);
}

TEST_F(FaultyLock, C13_NoTimeoutIsExactlyOneAttempt) {
  Lock holder = handle();
  ASSERT_TRUE(holder.acquire_immediately());
  store->attempts = 0;
  Lock lock = handle();
  EXPECT_FALSE(lock.acquire_immediately());
  EXPECT_EQ(store->attempts, 1);
  EXPECT_FALSE(lock.acquire({.timeout = -5s, .retry_delay = 1ms}));
  EXPECT_EQ(store->attempts, 2);
  EXPECT_FALSE(store->acquire_within("k", OwnerToken::generate(), 1s, {.timeout = 0s, .retry_delay = 1ms}));
  EXPECT_EQ(store->attempts, 3);
}

TEST_F(FaultyLock, C13_LooksAreARetryDelayApart) {
  Lock holder = handle();
  ASSERT_TRUE(holder.acquire_immediately());
  store->attempts = 0;
  EXPECT_FALSE(handle().acquire({.timeout = 100ms, .retry_delay = 20ms}));
  EXPECT_GE(store->attempts, 2);
  EXPECT_LE(store->attempts, 100 / 20 + 2) << "the first, one after each delay, and the last at the timeout";
}

TEST_F(FaultyLock, C13_KeyThatCameFreeBeforeTheTimeoutIsGrantedAtTheLastLook) {
  Lock holder = mortise::lock("k", 30ms, store);
  ASSERT_TRUE(holder.acquire_immediately());
  Lock lock = handle();
  const Stopwatch watch;
  EXPECT_TRUE(lock.acquire({.timeout = 100ms, .retry_delay = 20s}));
  EXPECT_THAT(watch.elapsed(), IsWithin(100ms, 100ms + kSlack));
}

}  // namespace
}  // namespace mortise
