// Keys that come and go cost no memory: slots are reused, and nobody's lease with them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "mortise/mortise.hpp"
#include "support/child_process.hpp"
#include "support/figures.hpp"
#include "support/shared.hpp"
#include "support/stopwatch.hpp"
#include "support/temporary_directory.hpp"
#include "support/watchdog.hpp"
#include "table/tally.hpp"

namespace mortise {
namespace {

using namespace std::chrono_literals;
using test::Channel;
using test::ChildProcess;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kReleased = 200'000;
constexpr int kLeftBehind = 20'000;
#else
constexpr int kReleased = 2'000'000;
constexpr int kLeftBehind = 200'000;
#endif
constexpr int kSample = 10'000;
constexpr auto kShortTtl = 50ms;
// Twice as many as leases are left behind at a time: a sample in each fifth of their ttl.
constexpr auto kPause = kShortTtl / 5;
constexpr SegmentOptions kOptions{.slots = 131'072};

long resident_kib() {
  std::ifstream file("/proc/self/statm");
  long size = 0;
  long resident = 0;
  file >> size >> resident;
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

// Processes that hold and wait for a hundred keys, each of which lets one in at a time.
class LiveKeys {
 public:
  explicit LiveKeys(const std::shared_ptr<LockStore>& store) {
    for (unsigned i = 0; i < kProcesses; ++i) {
      processes_.emplace_back([this, store, i](Channel&) {
        for (unsigned turn = i;; ++turn) use(turn % kKeys, store);
      });
    }
  }
  // How often a key was held; 0: something went wrong with one of them.
  std::uint64_t finish() {
    const bool sound = findings_->load() == 0;
    for (ChildProcess& process : processes_) {
      if (process.kill() != 128 + SIGKILL) return 0;
    }
    return sound ? turns_->load() : 0;
  }

 private:
  static constexpr unsigned kProcesses = 8;
  static constexpr unsigned kKeys = 100;

  void use(unsigned index, const std::shared_ptr<LockStore>& store) const {
    Lock lock = mortise::lock(LockKey("live:" + std::to_string(index)), 60s, store);
    if (!lock.acquire({.timeout = 30s})) return complain("was not granted");
    if ((*inside_)[index].fetch_add(1) != 0) complain("had two holders");
    std::this_thread::sleep_for(1ms);
    if (lock.is_expired()) complain("was freed");
    (*inside_)[index].fetch_sub(1);
    if (!lock.release()) complain("was lost");
    ++*turns_;
  }
  void complain(const char* what) const {
    std::printf("a live key %s\n", what);
    ++*findings_;
  }

  test::Shared<std::array<std::atomic<int>, kKeys>> inside_;
  test::Shared<std::atomic<std::uint64_t>> turns_;
  test::Shared<std::atomic<int>> findings_;
  std::vector<ChildProcess> processes_;
};

class Reuse : public testing::Test {
 protected:
  static LockKey key_number(int i) { return LockKey("key:" + std::to_string(i)); }

  // Keys of the numbers from `begin` on are used once each.
  template <class Use>
  static std::chrono::nanoseconds pass(int begin, int end, Use use) {
    const test::Stopwatch watch;
    for (int i = begin; i < end; ++i) use(i);
    return watch.elapsed();
  }

  // `look`: whatever must not change while keys come and go.
  static void run(const std::string& name, const std::shared_ptr<LockStore>& store,
                  const std::function<std::uint64_t()>& look) {
    constexpr int kLooks = 20;
    constexpr long kFlatKib = 1024;
    LiveKeys live(store);
    const auto use = [&](int i) {
      Lock lock = mortise::lock(key_number(i), 30s, store);
      ASSERT_TRUE(lock.acquire()) << i;
      ASSERT_TRUE(lock.release()) << i;
    };
    const int warm = kReleased / 10;  // by now every slot was touched
    pass(0, warm, use);
    const auto first = pass(warm, warm + kSample, use);
    const long resident = resident_kib();
    const std::uint64_t seen = look();
    const int step = (kReleased - warm) / kLooks;
    for (int i = warm; i + step < kReleased; i += step) {
      pass(i + kSample, i + step, use);
      EXPECT_LE(resident_kib(), resident + kFlatKib) << i;
      EXPECT_EQ(look(), seen) << i;
    }
    const auto leave_behind = [&](int i) {
      Lock lock = mortise::lock(key_number(kReleased + i), kShortTtl, store);
      ASSERT_TRUE(lock.acquire()) << i;
      ASSERT_TRUE(lock.detach()) << i;
    };
    // A lease that expired is counted: each slot's tally is touched once.
    constexpr long kTalliesKib = kOptions.slots * sizeof(table::KeyTally) / 1024;
    long with_tallies = 0;
    for (int i = 0; i < kLeftBehind; i += kSample) {
      pass(i, i + kSample, leave_behind);
      std::this_thread::sleep_for(kPause);
      EXPECT_EQ(look(), seen) << i;
      EXPECT_LE(resident_kib(), resident + kTalliesKib + kFlatKib) << i;
      if (i + kSample == kLeftBehind / 2) with_tallies = resident_kib();
      if (with_tallies != 0) {
        EXPECT_LE(resident_kib(), with_tallies + kFlatKib) << i;
      }
    }
    const auto last = pass(0, kSample, use);
    // Within 2x on a machine that has nothing else to do; here ten times are a finding.
    EXPECT_LT(last, 10 * first);
    const std::uint64_t turns = live.finish();
    EXPECT_GT(turns, 0U) << "the live keys were disturbed";
    std::array<char, 160> line{};
    std::snprintf(line.data(), line.size(),
                  "reuse  %-8s %d keys released, %d left behind; %.2f us a key at first, %.2f us at last; "
                  "8 processes held 100 others %lu times",
                  name.c_str(), kReleased, kLeftBehind, static_cast<double>(first.count()) / kSample / 1000,
                  static_cast<double>(last.count()) / kSample / 1000, turns);
    test::report_figures(line.data());
  }

 private:
  test::Watchdog watchdog_{280s};
};

TEST_F(Reuse, I4_KeysThatComeAndGoCostNothingInMemory) {
  run("memory:", std::make_shared<MemoryLockStore>(kOptions), [] { return 0; });
}

TEST_F(Reuse, I4_KeysThatComeAndGoCostNothingInSharedMemory) {
  const test::TemporaryDirectory directory;
  const std::string path = directory.file("segment");
  run("shm:", std::make_shared<ShmLockStore>(path, kOptions), [&] {
    const auto files = std::filesystem::directory_iterator(directory.path());
    EXPECT_EQ(std::distance(begin(files), end(files)), 1);
    return static_cast<std::uint64_t>(std::filesystem::file_size(path));
  });
}

TEST_F(Reuse, LeasesThatWereLeftBehindAreReusedOnceExpired) {
  const auto store = std::make_shared<MemoryLockStore>(SegmentOptions{.slots = 1024});
  for (int i = 0; i < 20'000; ++i) {
    Lock one = lock(key_number(i), 1ms, store);
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
