#include "table/snapshot.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "small_table.hpp"

namespace mortise::table {
namespace {

using namespace std::chrono_literals;

class SnapshotTest : public testing::Test, protected SmallTable {};

TEST_F(SnapshotTest, ShowsHeldLeasesOnly) {
  touch("free");
  const OwnerToken owner = OwnerToken::generate();
  const auto grant = acquire("held", owner);
  const auto records = snapshot(*segment);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].key, "held");
  EXPECT_EQ(records[0].fence, grant.fence);
  EXPECT_TRUE(records[0].lease.is_held_by(owner));
  EXPECT_EQ(records[0].sleepers, 0U);
  EXPECT_LE(records[0].granted_at, sys::Clock::now());
}

TEST_F(SnapshotTest, ShowsKeysOfEveryLengthWhole) {
  const OwnerToken owner = OwnerToken::generate();
  for (const std::size_t size : {1U, 7U, 8U, 9U, 24U, 25U, 88U, 89U, 216U, 217U, 1024U}) {
    std::string key(size, '\0');
    for (std::size_t i = 0; i < size; ++i) key[i] = static_cast<char>(i);
    acquire(LockKey(key), owner);
    const auto records = snapshot(*segment);
    ASSERT_EQ(records.size(), 1U);
    EXPECT_EQ(records[0].key, key);
    table.release(LockKey(key), owner);
  }
}

TEST_F(SnapshotTest, EveryRecordIsConsistentWhileTheTableIsBusy) {
  const auto keys = numbered_keys(200);  // more than there are slots: they evict each other
  std::atomic<bool> stop = false;
  std::thread busy([&] {
    for (std::size_t i = 0; !stop; ++i) {
      // The key tells the ttl, so that a record put together from two leases shows.
      const std::size_t n = i % keys.size();
      const OwnerToken owner = OwnerToken::generate();
      acquire(LockKey(keys[n]), owner, std::chrono::hours(n + 1));
      table.release(LockKey(keys[n]), owner);
    }
  });
  std::size_t seen = 0;
  while (seen < 500) {
    for (const LeaseRecord& record : snapshot(*segment)) {
      ++seen;
      const auto hours = std::chrono::hours(std::stoul(record.key.substr(4)) + 1);
      const auto left = record.lease.expiry() - sys::Clock::now();
      EXPECT_LE(left, hours + sys::kSoon + Lease::kTick);
      EXPECT_GT(left, hours - 10min);
    }
  }
  stop = true;
  busy.join();
}

}  // namespace
}  // namespace mortise::table
