// A lock that is always busy is nobody's alone. How evenly it goes round is for the benchmarks; here, that
// nobody starves.
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "mortise/mortise.hpp"
#include "support/child_process.hpp"
#include "support/figures.hpp"
#include "support/shared.hpp"
#include "support/stopwatch.hpp"
#include "support/temporary_directory.hpp"
#include "support/watchdog.hpp"

namespace mortise::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::duration_cast;
using std::chrono::milliseconds;

class Fairness : public testing::Test {
 protected:
  [[nodiscard]] Lock handle() const {
    return lock("k", 20s, std::make_shared<ShmLockStore>(directory.file("segment")));
  }

  const Watchdog watchdog;
  const TemporaryDirectory directory;
};

struct Experience {
  std::atomic<int> grants = 0;
  std::atomic<int> refusals = 0;
  std::atomic<long> longest_wait_ms = 0;
};

class Holds : public Fairness, public testing::WithParamInterface<std::chrono::microseconds> {};

// Each asks again as soon as it has released.
TEST_P(Holds, I8_NobodyStarvesAmongEightThatNeverPause) {
  constexpr unsigned kProcesses = 8;
  constexpr auto kTime = 2s;
  const Shared<std::array<Experience, kProcesses>> experiences;
  const ProcessBarrier together(kProcesses);
  std::vector<ChildProcess> processes;
  for (unsigned i = 0; i < kProcesses; ++i) {
    processes.emplace_back([&, i](Channel&) {
      Experience& mine = (*experiences)[i];
      Lock lock = handle();
      together.arrive_and_wait();
      for (const Stopwatch whole; whole.elapsed() < kTime;) {
        const Stopwatch watch;
        const bool granted = lock.acquire({.timeout = 5s});
        const long waited = duration_cast<milliseconds>(watch.elapsed()).count();
        mine.longest_wait_ms = std::max(mine.longest_wait_ms.load(), waited);
        ++(granted ? mine.grants : mine.refusals);
        if (!granted) continue;
        if (GetParam() > 0us) std::this_thread::sleep_for(GetParam());
        if (!lock.release()) _exit(1);
      }
    });
  }
  for (ChildProcess& process : processes) EXPECT_EQ(process.wait(), 0);

  int sum = 0;
  for (const Experience& each : *experiences) sum += each.grants;
  for (const Experience& each : *experiences) {
    EXPECT_EQ(each.refusals, 0);
    EXPECT_GT(each.grants, sum / int{kProcesses} / 5) << "a fifth of an equal share of " << sum;
    EXPECT_LT(each.longest_wait_ms, 1000);
  }
  const auto [least, most] = std::minmax_element(
      experiences->begin(), experiences->end(),
      [](const Experience& a, const Experience& b) { return a.grants.load() < b.grants.load(); });
  const auto slowest = std::max_element(experiences->begin(), experiences->end(),
                                        [](const Experience& a, const Experience& b) {
                                          return a.longest_wait_ms.load() < b.longest_wait_ms.load();
                                        });
  report_figures("fairness, 8 processes holding for " + std::to_string(GetParam().count()) +
                 " us: " + std::to_string(sum) + " grants, " + std::to_string(least->grants) + " to " +
                 std::to_string(most->grants) + " each, longest wait " +
                 std::to_string(slowest->longest_wait_ms) + " ms");
}

INSTANTIATE_TEST_SUITE_P(Fairness, Holds, testing::Values(0us, 20us, 200us, 2000us), [](const auto& each) {
  return "Of" + std::to_string(each.param.count()) + "Microseconds";
});

TEST_F(Fairness, I8_LoneWaiterGetsInBesideOneThatNeverPauses) {
  const ChildProcess busy([&](Channel&) {
    for (Lock lock = handle();;) {
      if (!lock.acquire({.timeout = 5s})) _exit(1);
      std::this_thread::sleep_for(2ms);
      if (!lock.release()) _exit(1);
    }
  });
  Lock lock = handle();
  for (int i = 0; i < 50; ++i) {
    const Stopwatch watch;
    ASSERT_TRUE(lock.acquire({.timeout = 5s}));
    EXPECT_LT(watch.elapsed(), 1s);
    ASSERT_TRUE(lock.release());
  }
}

}  // namespace
}  // namespace mortise::test
