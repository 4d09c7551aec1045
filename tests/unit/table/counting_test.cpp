#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

#include "small_table.hpp"
#include "table/snapshot.hpp"
#include "table/waiter.hpp"

namespace mortise::table {
namespace {

using namespace std::chrono_literals;

class CountingTest : public testing::Test, protected SmallTable {
 protected:
  [[nodiscard]] Counts of_all() const { return count(*segment).counts; }
  [[nodiscard]] Counts of(const LockKey& key) const { return counts(*segment, key).value(); }
  [[nodiscard]] std::uint64_t waits_in_histogram() const {
    const auto parts = count(*segment).waits_by_length;
    return std::accumulate(parts.begin(), parts.end(), std::uint64_t{0});
  }
  // So many keys that each slot has had several. The grants.
  // How many new keys were granted until this one had moved out.
  std::uint64_t push_out(const LockKey& key) {
    std::uint64_t grants = 0;
    for (int i = 0; counts(*segment, key); ++i) {
      if (touch(LockKey("new:" + std::to_string(i))) != 0) ++grants;
    }
    return grants;
  }
  void acquire_within(const LockKey& key, std::chrono::milliseconds timeout) {
    const WaitOptions options{.timeout = timeout, .retry_delay = 50ms};
    table::acquire_within(table, key, OwnerToken::generate(), 1s, options);
  }
};

TEST_F(CountingTest, EveryGrantIsCountedOfKnownAndOfNewKeys) {
  for (int i = 0; i < 10; ++i) touch("known");
  touch("another");
  EXPECT_EQ(of("known").grants, 10U);
  EXPECT_EQ(of("another").grants, 1U);
  EXPECT_EQ(of_all().grants, 11U);
  EXPECT_FALSE(counts(*segment, "never seen"));
}

TEST_F(CountingTest, KeysOfAllLengthsHaveTalliesOfTheirOwn) {
  for (const std::size_t length : {1U, 88U, 89U, 216U, 217U, 1024U}) {
    const std::string text(length, 'x');
    for (std::size_t i = 0; i < length; ++i) touch(LockKey(text));
    EXPECT_EQ(of(LockKey(text)).grants, length);
  }
  EXPECT_EQ(of_all().grants, 1U + 88U + 89U + 216U + 217U + 1024U);
}

TEST_F(CountingTest, AKeyThatMovesOutTakesNoCountAlong) {
  const OwnerToken first = OwnerToken::generate();
  acquire("k", first);
  acquire_within("k", 0ms);
  table.release("k", first);
  const std::uint64_t grants = 1 + push_out("k");
  EXPECT_EQ(of_all().grants, grants);
  EXPECT_EQ(of_all().busy, 1U);
  touch("k");
  EXPECT_EQ(of("k").grants, 1U) << "it begins again";
  EXPECT_EQ(of("k").busy, 0U);
}

TEST_F(CountingTest, AnExpiredLeaseIsCountedWhenItsKeyMovesOut) {
  acquire("k", OwnerToken::generate(), 1ms);
  while (table.holder("k")) std::this_thread::sleep_for(1ms);
  push_out("k");
  EXPECT_EQ(of_all().expired, 1U);
}

TEST_F(CountingTest, GrantsAreCountedExactlyWhenManyRaceForThem) {
  std::atomic<std::uint64_t> grants = 0;
  std::vector<std::thread> racers;
  for (int i = 0; i < 4; ++i) {
    racers.emplace_back([&] {
      for (int turn = 0; turn < 2000; ++turn) grants += touch("k") != 0 ? 1U : 0U;
    });
  }
  for (std::thread& racer : racers) racer.join();
  EXPECT_EQ(of("k").grants, grants);
}

TEST_F(CountingTest, AnExpiredLeaseIsCountedByWhoTakesItsPlace) {
  acquire("k", OwnerToken::generate(), 1ms);
  while (table.holder("k")) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(of("k").expired, 0U);
  touch("k");
  EXPECT_EQ(of("k").expired, 1U);
  EXPECT_EQ(of("k").orphaned, 0U);
}

TEST_F(CountingTest, AWaitIsCountedByItsLength) {
  acquire("k", OwnerToken::generate());
  acquire_within("k", 20ms);
  EXPECT_EQ(of("k").busy, 1U);
  EXPECT_EQ(of("k").waits, 1U);
  EXPECT_GE(of("k").waited, 20ms);
  EXPECT_EQ(waits_in_histogram(), 1U);
  const auto parts = count(*segment).waits_by_length;
  EXPECT_EQ(parts[0] + parts[1], 0U) << "it was no shorter than 20 ms";
}

TEST_F(CountingTest, AnAttemptThatDoesNotWaitIsBusyAndNoWait) {
  acquire("k", OwnerToken::generate());
  acquire_within("k", 0ms);
  EXPECT_EQ(of("k").busy, 1U);
  EXPECT_EQ(of("k").waits, 0U);
  EXPECT_EQ(waits_in_histogram(), 0U);
}

TEST_F(CountingTest, AWaitThatWasGrantedIsNotBusy) {
  const OwnerToken first = OwnerToken::generate();
  acquire("k", first);
  std::thread waiter([this] { acquire_within("k", 60s); });
  while (snapshot(*segment, "k")->sleepers == 0) std::this_thread::yield();
  table.release("k", first);
  waiter.join();
  EXPECT_EQ(of("k").waits, 1U);
  EXPECT_EQ(of("k").busy, 0U);
  EXPECT_EQ(of("k").grants, 2U);
}

}  // namespace
}  // namespace mortise::table
