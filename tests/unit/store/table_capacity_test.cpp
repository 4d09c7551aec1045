// How many leases a table holds (C22), and what becomes of fencing numbers when keys make room for others
// (C03).
#include <gmock/gmock.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "mortise/mortise.hpp"
#include "store_errors.hpp"
#include "support/stopwatch.hpp"
#include "support/temporary_directory.hpp"

namespace mortise {
namespace {

using namespace std::chrono_literals;
using test::FailsWith;

constexpr std::uint32_t kSlots = 64;

LockKey key_number(int i, std::size_t size = 16) {
  std::string key = std::to_string(i);
  key.resize(size, '_');
  return LockKey(key);
}

class TableCapacity : public testing::Test {
 protected:
  Lock handle(const LockKey& key) { return mortise::lock(key, 20s, store); }

  std::shared_ptr<LockStore> store = std::make_shared<MemoryLockStore>(SegmentOptions{.slots = kSlots});
};

TEST_F(TableCapacity, C22_FullTableIsAnErrorThatHarmsNobody) {
  std::vector<Lock> held;
  for (int i = 0; i < static_cast<int>(kSlots); ++i) {
    held.push_back(handle(key_number(i)));
    ASSERT_TRUE(held.back().acquire_immediately()) << i;
  }
  Lock one_too_many = handle("one too many");
  EXPECT_THAT([&] { std::ignore = one_too_many.acquire_immediately(); }, FailsWith(StoreErrc::table_full));
  EXPECT_THAT([&] { std::ignore = one_too_many.acquire({.timeout = 50ms}); },
              FailsWith(StoreErrc::table_full));
  bool called = false;
  EXPECT_THAT([&] { std::ignore = one_too_many.run([&] { called = true; }); },
              FailsWith(StoreErrc::table_full));
  EXPECT_FALSE(called);
  EXPECT_FALSE(one_too_many.is_locked());
  EXPECT_FALSE(handle(key_number(7)).acquire_immediately()) << "a key that has its slot is refused as ever";

  for (Lock& lock : held) EXPECT_FALSE(lock.is_expired());
  EXPECT_TRUE(held[7].release());
  EXPECT_TRUE(one_too_many.acquire_immediately());
  for (Lock& lock : held) EXPECT_EQ(lock.release(), &lock != &held[7]);
}

TEST_F(TableCapacity, C01_HandleWhoseKeyMovedOutNeverTakesTheKeyThatMovedIn) {
  Lock moved_out = handle("moved out");
  ASSERT_TRUE(moved_out.acquire_immediately());
  ASSERT_TRUE(moved_out.release());
  std::vector<Lock> others;
  for (int i = 0; i < static_cast<int>(kSlots); ++i) {
    others.push_back(handle(key_number(i)));
    ASSERT_TRUE(others.back().acquire_immediately()) << i;
  }
  EXPECT_THAT([&] { std::ignore = moved_out.acquire_immediately(); }, FailsWith(StoreErrc::table_full));
  for (Lock& other : others) EXPECT_TRUE(other.release());
  ASSERT_TRUE(moved_out.acquire_immediately());
  for (Lock& other : others) {
    EXPECT_TRUE(other.acquire_immediately());
    EXPECT_TRUE(other.release());
  }
  EXPECT_TRUE(moved_out.release());
}

// Where the large table keeps most keys, the small one has no memory.
TEST_F(TableCapacity, C01_KeyThatIsUsedInTwoStoresIsFoundInEach) {
  MemoryLockStore large({.slots = 1U << 20U});
  const OwnerToken here = OwnerToken::generate();
  const OwnerToken there = OwnerToken::generate();
  for (int i = 0; i < 50; ++i) {
    const LockKey key = key_number(i);
    ASSERT_TRUE(large.acquire(key, there, 20s));
    ASSERT_TRUE(store->acquire(key, here, 20s));
    ASSERT_FALSE(large.acquire(key, here, 20s));
    ASSERT_TRUE(store->is_held_by(key, here));
    ASSERT_TRUE(large.is_held_by(key, there));
    ASSERT_TRUE(store->release(key, here));
    ASSERT_TRUE(large.extend(key, there, 20s));
    ASSERT_TRUE(large.release(key, there));
  }
}

TEST_F(TableCapacity, C22_FreeAndExpiredLeasesTakeNoRoom) {
  for (const std::size_t size : {16U, 88U, 89U, 216U, 217U, 1024U}) {
    for (int i = 0; i < 1000; ++i)
      ASSERT_TRUE(handle(key_number(i, size)).acquire_immediately()) << size << " " << i;
    for (int round = 0; round < 4; ++round) {
      for (int i = 0; i < static_cast<int>(kSlots); ++i) {
        ASSERT_TRUE(store->acquire(key_number(round * 100 + i, size), OwnerToken::generate(), 1ms));
      }
      std::this_thread::sleep_for(2ms);
    }
  }
}

TEST_F(TableCapacity, C03_FencingNumberRisesThoughTheKeyWasForgottenMeanwhile) {
  std::uint64_t last = 0;
  for (int round = 0; round < 10; ++round) {
    Lock lock = handle("k");
    ASSERT_TRUE(lock.acquire_immediately());
    EXPECT_GT(lock.fencing_token(), last);
    last = lock.fencing_token();
    ASSERT_TRUE(lock.release());
    for (int i = 0; i < 3 * static_cast<int>(kSlots); ++i)
      ASSERT_TRUE(handle(key_number(i)).acquire_immediately());
  }
}

TEST_F(TableCapacity, LeaseThatLivesIsNeverMovedOutByOthers) {
  Lock lock = handle("k");
  ASSERT_TRUE(lock.acquire_immediately());
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(handle(key_number(i)).acquire_immediately());
  EXPECT_FALSE(lock.is_expired());
  EXPECT_FALSE(handle("k").acquire_immediately());
  EXPECT_TRUE(lock.release());
}

// A waiter whose key has to make room, because the lease expired that it waits for, is granted nevertheless.
TEST_F(TableCapacity, C14_WaiterOfAKeyThatMovesOutIsGranted) {
  Lock holder = mortise::lock("k", 100ms, store);
  ASSERT_TRUE(holder.acquire_immediately());
  std::jthread churning([&](const std::stop_token& stop) {
    for (int i = 0; !stop.stop_requested(); ++i)
      EXPECT_TRUE(handle(key_number(i % 500)).acquire_immediately());
  });
  const test::Stopwatch watch;
  Lock waiter = handle("k");
  EXPECT_TRUE(waiter.acquire({.timeout = 20s, .retry_delay = 20s}));
  EXPECT_LT(watch.elapsed(), 100ms + test::kSlack);
}

TEST(ShmLockStore, C03_FencingNumberRisesThoughTheSegmentWasMadeAnew) {
  const test::TemporaryDirectory directory;
  std::uint64_t last = 0;
  for (int round = 0; round < 5; ++round) {
    Lock lock = mortise::lock("k", 20s, std::make_shared<ShmLockStore>(directory.file("segment")));
    for (int i = 0; i < 10; ++i) {
      ASSERT_TRUE(lock.acquire_immediately());
      EXPECT_GT(lock.fencing_token(), last);
      last = lock.fencing_token();
      ASSERT_TRUE(lock.release());
    }
    std::filesystem::remove(directory.file("segment"));
  }
}

}  // namespace
}  // namespace mortise
