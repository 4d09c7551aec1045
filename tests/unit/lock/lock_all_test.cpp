// Several keys at once: a store that fails, and texts that nobody made. What every store has to do is in
// conformance.
#include "mortise/lock_all.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "mortise/mortise.hpp"
#include "support/map_lock_store.hpp"
#include "support/watchdog.hpp"

namespace mortise {
namespace {

using namespace std::chrono_literals;

// Fails on one key.
class PickyStore final : public test::MapLockStore {
 public:
  std::optional<Grant> acquire(const LockKey& key, OwnerToken owner, Ttl ttl) override {
    fail_on(cannot_acquire, key);
    return MapLockStore::acquire(key, owner, ttl);
  }
  bool release(const LockKey& key, OwnerToken owner) override {
    fail_on(cannot_release, key);
    return MapLockStore::release(key, owner);
  }

  std::optional<LockKey> cannot_acquire;
  std::optional<LockKey> cannot_release;

 private:
  static void fail_on(const std::optional<LockKey>& broken, const LockKey& key) {
    if (broken == key) throw StoreError(StoreErrc::cannot_open, "this key is broken");
  }
};

class LockAll : public testing::Test {
 protected:
  LockGroup group(std::vector<LockKey> keys = {"a", "b", "c"}) {
    return lock_all(std::move(keys), 20s, store);
  }
  int locked() {
    int count = 0;
    for (const char* key : {"a", "b", "c"}) count += store->is_locked(key) ? 1 : 0;
    return count;
  }
  void expect_refused(const std::string& text) {
    EXPECT_THROW(std::ignore = restore_lock_all(text, store), std::invalid_argument) << text;
  }

  test::Watchdog watchdog;
  std::shared_ptr<PickyStore> store = std::make_shared<PickyStore>();
};

TEST_F(LockAll, StoreThatFailsInTheMiddleLeavesNothingHeld) {
  for (const bool keep_alive : {false, true}) {
    for (const char* broken : {"a", "b", "c"}) {
      store->cannot_acquire = broken;
      LockGroup all = group();
      EXPECT_THROW(std::ignore = all.acquire({.keep_alive = keep_alive}), StoreError);
      EXPECT_THROW(std::ignore = all.acquire({.timeout = 5s, .keep_alive = keep_alive}), StoreError);
      bool called = false;
      EXPECT_THROW(std::ignore = all.run([&] { called = true; }), StoreError);
      EXPECT_FALSE(called);
      EXPECT_EQ(locked(), 0) << broken;
      store->cannot_acquire.reset();
      EXPECT_TRUE(all.acquire_immediately());
    }
  }
}

TEST_F(LockAll, ReleaseThatFailsForOneReleasesTheOthersAndMayBeTriedAgain) {
  LockGroup all = group();
  ASSERT_TRUE(all.acquire_immediately());
  store->cannot_release = "b";
  EXPECT_THROW(all.release(), StoreError);
  EXPECT_EQ(locked(), 1);
  store->cannot_release.reset();
  EXPECT_FALSE(all.release()) << "not all were still ours";
  EXPECT_EQ(locked(), 0);
}

TEST_F(LockAll, ResultOfARunStandsWhenTheReleaseFails) {
  const auto result = group().run([&] {
    store->cannot_release = "b";
    return 42;
  });
  EXPECT_EQ(result.result(), 42);
  EXPECT_TRUE(result.lost());
}

TEST_F(LockAll, NeedsKeysAndAStore) {
  EXPECT_THROW(std::ignore = lock_all({}, 20s, store), std::invalid_argument);
  EXPECT_THROW(std::ignore = lock_all({"a"}, 20s, nullptr), std::invalid_argument);
  EXPECT_THROW(std::ignore = lock_all({"a", ""}, 20s, store), std::invalid_argument);
}

TEST_F(LockAll, C20_RestoreRefusesWhatSerializeDidNotMake) {
  LockGroup all = group();
  ASSERT_TRUE(all.acquire_immediately());
  const std::string text = all.serialize();
  ASSERT_EQ(restore_lock_all(text, store).locks().size(), 3U);

  for (std::size_t size = 0; size < text.size(); ++size) {
    if (text[size] != ' ') expect_refused(text.substr(0, size));
    if (size > 0 && text[size - 1] != ' ') expect_refused(text.substr(size));
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char byte : {'\0', '\n', ' ', '\t', '0', 'x'}) {
      std::string longer = text;
      expect_refused(longer.insert(i, 1, byte));
      std::string changed = text;
      if (changed[i] != byte) expect_refused(changed.replace(i, 1, 1, byte));
    }
  }
  expect_refused(text + " ");
  expect_refused(text + " " + text);
  const std::string first = text.substr(0, text.find(' '));
  const std::string others = text.substr(text.find(' ') + 1);
  expect_refused(first + " " + first);
  expect_refused(others + " " + first);
  EXPECT_TRUE(all.release()) << "no refusal changed anything";
}

TEST_F(LockAll, C20_TextOfALoneLockIsThatOfAGroupOfOne) {
  Lock lone = lock("a", 20s, store);
  ASSERT_TRUE(lone.acquire_immediately());
  EXPECT_TRUE(restore_lock_all(lone.serialize(), store).release());
  LockGroup one = group({"a"});
  ASSERT_TRUE(one.acquire_immediately());
  EXPECT_TRUE(restore_lock(one.serialize(), store).release());
}

TEST_F(LockAll, MovedFromGroupHasNothing) {
  LockGroup from = group();
  ASSERT_TRUE(from.acquire_immediately());
  LockGroup to = std::move(from);
  EXPECT_FALSE(from.release());
  EXPECT_FALSE(from.detach());
  EXPECT_FALSE(from.is_expired());
  EXPECT_THROW(from.extend(), LockNotHeldError);
  EXPECT_THROW(from.extend(1s), LockNotHeldError);
  EXPECT_THROW(from.ensure_held(), LockNotHeldError);
  EXPECT_THROW(std::ignore = from.lost_token(), LockNotHeldError);
  EXPECT_THROW(std::ignore = from.serialize(), LockNotHeldError);
  EXPECT_THROW(std::ignore = from.acquire_immediately(), std::logic_error);
  EXPECT_EQ(locked(), 3);
  EXPECT_TRUE(to.release());
}

}  // namespace
}  // namespace mortise
