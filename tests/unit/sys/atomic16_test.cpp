#include "sys/atomic16.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace mortise::sys {
namespace {

struct alignas(16) Aligned {
  AtomicPair pair{};
};

TEST(AtomicPair, SwapsBothHalvesOrNeither) {
  Aligned aligned;
  AtomicPair& pair = aligned.pair;
  EXPECT_TRUE(pair.compare_exchange(0, 0, 1, 2));
  EXPECT_FALSE(pair.compare_exchange(1, 0, 7, 7));
  EXPECT_FALSE(pair.compare_exchange(0, 2, 7, 7));
  EXPECT_EQ(pair.low, 1U);
  EXPECT_EQ(pair.high, 2U);
  EXPECT_TRUE(pair.compare_exchange(1, 2, 3, 4));
  EXPECT_EQ(pair.low, 3U);
  EXPECT_EQ(pair.high, 4U);
}

TEST(AtomicPair, ThreadsLoseNoIncrement) {
  constexpr std::uint64_t kRounds = 100'000;
  Aligned aligned;
  AtomicPair& pair = aligned.pair;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&pair] {
      for (std::uint64_t done = 0; done < kRounds;) {
        const std::uint64_t low = pair.low.load();
        const std::uint64_t high = pair.high.load();
        if (pair.compare_exchange(low, high, low + 1, high + 3)) ++done;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pair.low, 4 * kRounds);
  EXPECT_EQ(pair.high, 12 * kRounds);
}

}  // namespace
}  // namespace mortise::sys
