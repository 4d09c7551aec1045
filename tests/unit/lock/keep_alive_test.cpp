// The renewer: when it asks the store, and for what.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "mortise/mortise.hpp"
#include "support/eventually.hpp"
#include "support/map_lock_store.hpp"
#include "support/stopwatch.hpp"
#include "support/watchdog.hpp"

namespace mortise {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::IsWithin;
using test::kSlack;
using test::Stopwatch;

// Counts the extensions; may be broken, and may forget leases.
class CountingStore final : public test::MapLockStore {
 public:
  bool extend(const LockKey& key, OwnerToken owner, Ttl ttl) override {
    ++extensions;
    fail_if_broken();
    return MapLockStore::extend(key, owner, ttl);
  }
  bool is_held_by(const LockKey& key, OwnerToken owner) override {
    fail_if_broken();
    return MapLockStore::is_held_by(key, owner);
  }
  std::optional<Grant> acquire(const LockKey& key, OwnerToken owner, Ttl ttl) override {
    const std::lock_guard guard(mutex_);
    last_owner_ = owner;
    return MapLockStore::acquire(key, owner, ttl);
  }
  // Ends the lease that was granted last.
  bool forget(const LockKey& key) {
    const std::lock_guard guard(mutex_);
    return release(key, *last_owner_);
  }

  std::atomic<int> extensions = 0;
  std::atomic<bool> broken = false;

 private:
  void fail_if_broken() const {
    if (broken) throw StoreError(StoreErrc::cannot_open, "the store is broken");
  }
  std::mutex mutex_;
  std::optional<OwnerToken> last_owner_;
};

class KeepAlive : public testing::Test {
 protected:
  static constexpr auto kTtl = 300ms;

  Lock handle(LockKey key = "k", Ttl ttl = kTtl) { return mortise::lock(std::move(key), ttl, store); }
  Lock kept_alive(LockKey key = "k", Ttl ttl = kTtl) {
    Lock lock = handle(std::move(key), ttl);
    EXPECT_TRUE(lock.acquire({.keep_alive = true}));
    return lock;
  }

  test::Watchdog watchdog;
  std::shared_ptr<CountingStore> store = std::make_shared<CountingStore>();
};

TEST_F(KeepAlive, RenewsAtEachThirdOfTheTtl) {
  constexpr auto kTime = 2s;
  const Lock lock = kept_alive();
  const Stopwatch watch;
  while (watch.elapsed() < kTime) {
    ASSERT_TRUE(store->is_locked("k"));
    std::this_thread::sleep_for(5ms);
  }
  EXPECT_GE(store->extensions, kTime / kTtl);
  // At once, and then each third of the ttl. Those that are due soon are done with others: 5 ms early.
  EXPECT_LE(store->extensions, 1 + watch.elapsed() / (kTtl / 3 - 5ms));
}

TEST_F(KeepAlive, NothingIsExtendedAfterTheRelease) {
  Lock released = kept_alive("released");
  Lock detached = kept_alive("detached");
  Lock serialized = kept_alive("serialized");
  std::optional<Lock> destroyed = kept_alive("destroyed");
  ASSERT_TRUE(eventually([&] { return store->extensions >= 4; }));
  ASSERT_TRUE(released.release());
  ASSERT_TRUE(detached.detach());
  std::ignore = serialized.serialize();
  destroyed.reset();
  const int extensions = store->extensions;
  std::this_thread::sleep_for(2 * kTtl);
  EXPECT_EQ(store->extensions, extensions);
  EXPECT_FALSE(store->is_locked("detached")) << "it has expired";
  EXPECT_FALSE(store->is_locked("serialized"));
}

// The token decides, not the key.
TEST_F(KeepAlive, NextGrantOfTheKeyIsNotRenewed) {
  Lock lost = kept_alive();
  ASSERT_TRUE(store->forget("k"));
  Lock next = handle();
  const Stopwatch since_grant;
  ASSERT_TRUE(next.acquire_immediately());
  ASSERT_TRUE(eventually([&] { return !store->is_locked("k"); }));
  EXPECT_THAT(since_grant.elapsed(), IsWithin(kTtl, kTtl + kSlack));
  EXPECT_TRUE(lost.is_expired());
}

TEST_F(KeepAlive, LossIsToldAndNotAskedForAgain) {
  Lock lock = kept_alive();
  const std::stop_token lost = lock.lost_token();
  ASSERT_TRUE(store->forget("k"));
  const Stopwatch since_loss;
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
  EXPECT_LT(since_loss.elapsed(), kTtl / 3 + kSlack);
  const int extensions = store->extensions;
  std::this_thread::sleep_for(kTtl);
  EXPECT_EQ(store->extensions, extensions);
}

TEST_F(KeepAlive, StoreThatFailsForAWhileIsAskedAgain) {
  constexpr auto kLongTtl = 900ms;
  Lock lock = kept_alive("k", kLongTtl);
  const std::stop_token lost = lock.lost_token();
  ASSERT_TRUE(eventually([&] { return store->extensions >= 1; }));
  store->broken = true;
  const int extensions = store->extensions;
  ASSERT_TRUE(eventually([&] { return store->extensions >= extensions + 3; }, kLongTtl))
      << "asked again, more than once in a third of the ttl";
  store->broken = false;
  std::this_thread::sleep_for(kLongTtl);
  EXPECT_FALSE(lost.stop_requested());
  EXPECT_NO_THROW(lock.ensure_held());
}

TEST_F(KeepAlive, StoreThatFailsUntilTheExpiryHasLostTheLease) {
  Lock lock = kept_alive();
  const std::stop_token lost = lock.lost_token();
  ASSERT_TRUE(eventually([&] { return store->extensions >= 1; }));
  const Stopwatch since_failure;
  store->broken = true;
  ASSERT_TRUE(eventually([&] { return lost.stop_requested(); }));
  // The last renewal was a third of the ttl ago, at most.
  EXPECT_THAT(since_failure.elapsed(), IsWithin(kTtl / 3, kTtl + kSlack));
  const int extensions = store->extensions;
  std::this_thread::sleep_for(kTtl);
  EXPECT_EQ(store->extensions, extensions) << "it is over, and asked for no more";
  store->broken = false;
}

TEST_F(KeepAlive, OnesOwnExtensionIsKeptUp) {
  Lock lock = kept_alive("k", 20s);
  lock.extend(kTtl);
  std::this_thread::sleep_for(3 * kTtl);
  EXPECT_NO_THROW(lock.ensure_held()) << "renewed at a third of the ttl that it has now";
  EXPECT_GE(store->extensions, 3);
}

TEST_F(KeepAlive, CallbackMayUseTheVeryHandle) {
  Lock lock = kept_alive();
  std::atomic<bool> done = false;
  const std::stop_callback on_loss(lock.lost_token(), [&] {
    EXPECT_FALSE(lock.release());
    EXPECT_TRUE(lock.acquire({.keep_alive = true}));
    done = true;
  });
  ASSERT_TRUE(store->forget("k"));
  ASSERT_TRUE(eventually([&] { return done.load(); }));
  std::this_thread::sleep_for(2 * kTtl);
  EXPECT_NO_THROW(lock.ensure_held());
  EXPECT_TRUE(lock.release());
}

// Handles made, moved, extended and dropped by many threads at once, with the renewer at work.
TEST_F(KeepAlive, ManyThreadsAtOnce) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const Stopwatch watch;
      for (int round = 0; watch.elapsed() < 500ms; ++round) {
        Lock lock = kept_alive(LockKey(std::to_string(i)), 5ms + (round % 3) * 100ms);
        const std::stop_token lost = lock.lost_token();
        try {
          lock.extend(std::chrono::milliseconds(1 + round % 200));
        } catch (const LockNotHeldError&) {
        }
        Lock moved = std::move(lock);
        if (round % 2 == 0) std::this_thread::sleep_for(1ms);
        if (round % 3 == 0) moved.release();
      }
    });
  }
}

}  // namespace
}  // namespace mortise
