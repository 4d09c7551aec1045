// Which store lock(key) uses.
#include <gmock/gmock.h>
#include <stdlib.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <vector>

#include "mortise/mortise.hpp"
#include "support/map_lock_store.hpp"
#include "support/temporary_directory.hpp"

namespace mortise {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::ThrowsMessage;

// Begins and ends without a store set; every test sets MORTISE_STORE before it asks for the default store, so
// that none opens the user's own.
class DefaultStore : public testing::Test {
 protected:
  DefaultStore() { set_lock_store(nullptr); }
  ~DefaultStore() override {
    set_lock_store(nullptr);
    unsetenv("MORTISE_STORE");
  }
  static void set_environment(const std::string& url) { setenv("MORTISE_STORE", url.c_str(), 1); }

  test::TemporaryDirectory directory;
};

TEST_F(DefaultStore, IsTheOneThatWasSet) {
  const auto store = std::make_shared<test::MapLockStore>();
  set_lock_store(store);
  EXPECT_EQ(lock_store(), store);
  Lock made = lock("k");
  ASSERT_TRUE(made.acquire_immediately());
  EXPECT_TRUE(store->is_locked("k"));
  EXPECT_EQ(made.ttl(), Ttl(30s));
}

TEST_F(DefaultStore, OfRestoredLocksIsTheSame) {
  set_lock_store(std::make_shared<test::MapLockStore>());
  Lock made = lock("k");
  ASSERT_TRUE(made.acquire_immediately());
  EXPECT_TRUE(restore_lock(made.serialize()).release());
  EXPECT_FALSE(made.is_locked());
}

TEST_F(DefaultStore, OfLocksThatExistStays) {
  const auto first = std::make_shared<test::MapLockStore>();
  const auto second = std::make_shared<test::MapLockStore>();
  set_lock_store(first);
  Lock made_before = lock("k");
  set_lock_store(second);
  ASSERT_TRUE(made_before.acquire_immediately());
  EXPECT_TRUE(first->is_locked("k"));
  EXPECT_FALSE(second->is_locked("k"));
  EXPECT_TRUE(lock("k").acquire_immediately());
}

TEST_F(DefaultStore, IsNamedByTheEnvironmentWhenNoneWasSet) {
  set_environment("shm:" + directory.file("segment"));
  Lock made = lock("k");
  ASSERT_TRUE(made.acquire_immediately());
  EXPECT_TRUE(open_store("shm:" + directory.file("segment"))->is_locked("k"));
  EXPECT_EQ(lock_store(), lock_store()) << "it is opened once";
}

TEST_F(DefaultStore, ThatWasSetWinsOverTheEnvironment) {
  set_environment("shm:" + directory.file("segment"));
  const auto store = std::make_shared<test::MapLockStore>();
  set_lock_store(store);
  EXPECT_EQ(lock_store(), store);
  EXPECT_FALSE(std::filesystem::exists(directory.file("segment")));
}

TEST_F(DefaultStore, GoesBackToTheEnvironment) {
  set_environment("memory:");
  const auto store = std::make_shared<test::MapLockStore>();
  set_lock_store(store);
  ASSERT_EQ(lock_store(), store);
  set_lock_store(nullptr);
  EXPECT_NE(std::dynamic_pointer_cast<MemoryLockStore>(lock_store()), nullptr);
}

TEST_F(DefaultStore, RefusesAnEnvironmentThatNamesNothing) {
  set_environment("carrier-pigeon:");
  EXPECT_THAT([] { std::ignore = lock("k"); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("carrier-pigeon")));
  EXPECT_THROW(std::ignore = lock_store(), std::invalid_argument);
  EXPECT_THROW(std::ignore = restore_lock("text"), std::invalid_argument);
  set_environment("memory:");
  EXPECT_NE(lock_store(), nullptr) << "the failure is not kept";
}

TEST_F(DefaultStore, ThatCannotBeOpenedIsAStoreError) {
  set_environment("shm:" + directory.file("missing/segment"));
  EXPECT_THROW(std::ignore = lock("k"), StoreError);
}

TEST_F(DefaultStore, UrlIsTheUsersSegmentWhenNothingIsNamed) {
  EXPECT_EQ(default_store_url(), "shm:");
  set_environment("");
  EXPECT_EQ(default_store_url(), "shm:");
  set_environment("memory:");
  EXPECT_EQ(default_store_url(), "memory:");
}

TEST_F(DefaultStore, IsOneForAllThreads) {
  set_environment("memory:");
  constexpr std::size_t kThreads = 8;
  std::vector<std::shared_ptr<LockStore>> seen(kThreads);
  std::barrier together(kThreads);
  {
    std::vector<std::jthread> threads;
    for (auto& mine : seen) {
      threads.emplace_back([&] {
        together.arrive_and_wait();
        mine = lock_store();
      });
    }
  }
  EXPECT_THAT(seen, testing::Each(seen.front()));
}

TEST_F(DefaultStore, IsReplacedForThreadsThatUsedItBefore) {
  const auto first = std::make_shared<test::MapLockStore>();
  const auto second = std::make_shared<test::MapLockStore>();
  set_lock_store(first);
  std::barrier together(2);
  std::shared_ptr<LockStore> before;
  std::shared_ptr<LockStore> after;
  {
    const std::jthread other([&] {
      before = lock_store();
      together.arrive_and_wait();
      together.arrive_and_wait();
      after = lock_store();
    });
    together.arrive_and_wait();
    set_lock_store(second);
    together.arrive_and_wait();
  }
  EXPECT_EQ(before, first);
  EXPECT_EQ(after, second);
}

}  // namespace
}  // namespace mortise
