#include "sys/clock.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>
#include <vector>

namespace mortise::sys {
namespace {

// Between two exact looks: never earlier than the first, nor by more than kSoon later than the second.
void expect_soon() {
  const TimePoint before = Clock::now();
  const TimePoint answer = soon();
  const TimePoint after = Clock::now();
  ASSERT_GE(answer, before);
  ASSERT_LE(answer, after + kSoon);
}

TEST(Soon, IsNeverEarlierThanNow) {
  for (int i = 0; i < 1'000'000; ++i) expect_soon();
}

TEST(Soon, IsNeverEarlierThanNowAfterAPause) {
  for (int i = 0; i < 1000; ++i) {
    expect_soon();
    std::this_thread::sleep_for(std::chrono::microseconds(i));
  }
}

TEST(Soon, IsNeverEarlierThanNowOnAnotherProcessor) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  std::vector<std::size_t> processors;
  for (std::size_t i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &allowed)) processors.push_back(i);
  }
  for (std::size_t i = 0; i < 2000; ++i) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processors[i % processors.size()], &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    for (int j = 0; j < 10; ++j) expect_soon();
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(allowed), &allowed), 0);
}

TEST(HasCome, IsTrueFromTheMomentOn) {
  const TimePoint moment = Clock::now() + std::chrono::milliseconds(5);
  for (bool come = false; !come;) {
    const bool was_past = Clock::now() >= moment;
    come = has_come(moment);
    ASSERT_TRUE(come || !was_past);
    ASSERT_TRUE(!come || Clock::now() >= moment);
  }
  EXPECT_FALSE(has_come(Clock::now() + std::chrono::hours(1)));
}

}  // namespace
}  // namespace mortise::sys
