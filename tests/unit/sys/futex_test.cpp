#include "sys/futex.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "support/child_process.hpp"
#include "support/shared.hpp"

namespace mortise::sys {
namespace {

using namespace std::chrono_literals;
using test::ChildProcess;

struct Words {
  std::atomic<std::uint64_t> first{};
  std::atomic<std::uint32_t> second{};
};
FutexWord second_word(Words& words) {
  return reinterpret_cast<FutexWord>(&words.second);
}

// Until the kernel counts that many; the test's own time-out bounds it.
void await_sleepers(FutexWord word, unsigned count) {
  while (count_sleepers(word) != count) std::this_thread::yield();
}

TEST(Futex, LowHalfIsTheLowHalf) {
  std::atomic<std::uint64_t> word = 0x1111'1111'2222'2222;
  EXPECT_EQ(*low_half(word), 0x2222'2222U);
}

TEST(Futex, DoesNotSleepOnAnotherValue) {
  std::atomic<std::uint64_t> word = 1;
  futex_wait(low_half(word), 2, TimePoint::max());
}

TEST(Futex, SleepsUntilTheTime) {
  std::atomic<std::uint64_t> word = 1;
  const TimePoint until = Clock::now() + 20ms;
  while (Clock::now() < until) futex_wait(low_half(word), 1, until);
  const TimePoint past = Clock::now() - 1s;
  futex_wait(low_half(word), 1, past);
}

TEST(Futex, CountsAndWakesSleepersOfOtherProcesses) {
  const test::Shared<Words> words;
  const FutexWord word = low_half(words->first);
  const auto sleep = [&](test::Channel&) { futex_wait(word, 0, TimePoint::max()); };
  ChildProcess a(sleep);
  ChildProcess b(sleep);
  ChildProcess c(sleep);
  await_sleepers(word, 3);
  EXPECT_EQ(futex_wake(word, 1), 1);
  await_sleepers(word, 2);
  EXPECT_EQ(futex_wake(word, kAllSleepers), 2);
  await_sleepers(word, 0);
  EXPECT_EQ(a.wait() + b.wait() + c.wait(), 0);
}

TEST(Futex, DoesNotCountTheDead) {
  const test::Shared<Words> words;
  const FutexWord word = low_half(words->first);
  ChildProcess child([&](test::Channel&) { futex_wait(word, 0, TimePoint::max()); });
  await_sleepers(word, 1);
  child.kill();
  EXPECT_EQ(count_sleepers(word), 0U);
}

TEST(Futex, EitherWordEndsTheSleep) {
  const test::Shared<Words> words;
  const FutexWord first = low_half(words->first);
  const FutexWord second = second_word(*words);
  for (const FutexWord woken : {first, second}) {
    ChildProcess child([&](test::Channel&) { futex_wait_either(first, 0, second, TimePoint::max()); });
    await_sleepers(woken, 1);
    EXPECT_EQ(futex_wake(woken, 1), 1);
    EXPECT_EQ(child.wait(), 0);
  }
  words->second = 1;
  futex_wait_either(first, 0, second, TimePoint::max());
}

}  // namespace
}  // namespace mortise::sys
