// Keys that come and go cost no memory: slots are reused.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>

#include "mortise/mortise.hpp"

namespace mortise {
namespace {

using namespace std::chrono_literals;

long peak_resident_kib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kKeys = 500'000;
#else
constexpr int kKeys = 10'000'000;
#endif

TEST(Reuse, AnyNumberOfKeysGoesThroughATableOf16384Slots) {
  const auto store = std::make_shared<MemoryLockStore>(SegmentOptions{.slots = 16384});
  Lock undisturbed = lock("live", 1h, store);
  ASSERT_TRUE(undisturbed.acquire());
  const auto pass = [&](int begin, int end) {
    for (int i = begin; i < end; ++i) {
      Lock one = lock(LockKey("key:" + std::to_string(i)), 30s, store);
      ASSERT_TRUE(one.acquire()) << i;
      ASSERT_TRUE(one.release()) << i;
    }
  };
  pass(0, 100'000);  // by now every slot has been touched
  const long before = peak_resident_kib();
  pass(100'000, kKeys);
  EXPECT_LE(peak_resident_kib(), before + 1024);
  EXPECT_FALSE(undisturbed.is_expired());
}

TEST(Reuse, LeasesThatWereLeftBehindAreReusedOnceExpired) {
  const auto store = std::make_shared<MemoryLockStore>(SegmentOptions{.slots = 1024});
  for (int i = 0; i < 20'000; ++i) {
    Lock one = lock(LockKey("key:" + std::to_string(i)), 1ms, store);
    while (!one.acquire({.timeout = 1s})) {
    }
    one.detach();
    // 256 left behind at a time, a quarter of the table
    if (i % 256 == 255) {
      const auto later = std::chrono::steady_clock::now() + 2ms;
      while (std::chrono::steady_clock::now() < later) {
      }
    }
  }
}

}  // namespace
}  // namespace mortise
