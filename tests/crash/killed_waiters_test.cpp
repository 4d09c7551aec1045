// Waiters and holders that are killed all the time cost those that live nothing.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "mortise/mortise.hpp"
#include "support/child_process.hpp"
#include "support/shared.hpp"
#include "support/temporary_directory.hpp"
#include "support/watchdog.hpp"

namespace mortise::crash {
namespace {

using namespace std::chrono_literals;
using test::Channel;
using test::ChildProcess;
using Clock = std::chrono::steady_clock;

constexpr unsigned kMortals = 4;
constexpr unsigned kSurvivors = 4;
constexpr auto kDuration = 10s;
// The case asks for one second on an idle machine.
constexpr auto kLongestGap = 2s;

// Of one process, or of several that are not looked at one by one.
struct Progress {
  std::atomic<std::uint64_t> grants = 0;
  std::atomic<Clock::time_point> last_grant = Clock::now();
  std::atomic<Clock::duration> longest_gap = Clock::duration::zero();

  void note_grant() {
    ++grants;
    const auto now = Clock::now();
    longest_gap = std::max(longest_gap.load(), now - last_grant.exchange(now));
  }
  // The one that is not over included.
  [[nodiscard]] Clock::duration gap() const {
    return std::max(longest_gap.load(), Clock::now() - last_grant.load());
  }
};

class KilledWaiters : public testing::Test {
 protected:
  // Locks "hot" again and again; every few rounds a key that is new to the table, in the same stripe.
  void compete(unsigned name, Progress& progress) const {
    constexpr unsigned kRoundsPerNewKey = 4;
    const auto store = std::make_shared<ShmLockStore>(path, SegmentOptions{.slots = 64, .processes = 64});
    for (std::uint64_t round = 0;; ++round) {
      Lock hot = lock("hot", 500ms, store);
      if (hot.acquire({.timeout = 500ms, .retry_delay = 1ms})) {
        progress.note_grant();
        hot.release();
      }
      if (round % kRoundsPerNewKey != 0) continue;
      Lock fresh = lock(LockKey(std::to_string(name) + ":" + std::to_string(round)), 500ms, store);
      if (!fresh.acquire({.timeout = 500ms})) _exit(1);
    }
  }
  [[nodiscard]] ChildProcess competitor(unsigned name, Progress& progress) const {
    return ChildProcess([this, name, &progress](Channel&) { compete(name, progress); });
  }

  test::Watchdog watchdog;
  test::TemporaryDirectory directory;
  std::string path = directory.file("segment");
};

TEST_F(KilledWaiters, A2_CostTheSurvivorsNothing) {
  const test::Shared<std::array<Progress, kSurvivors>> progress;
  const test::Shared<Progress> of_the_dead;
  std::vector<ChildProcess> survivors;
  std::vector<std::optional<ChildProcess>> mortals(kMortals);
  unsigned name = 0;
  for (Progress& own : *progress) survivors.push_back(competitor(name++, own));
  for (auto& mortal : mortals) mortal.emplace(competitor(name++, *of_the_dead));

  std::minstd_rand random(1);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same kills in every run
  unsigned kills = 0;
  for (const auto end = Clock::now() + kDuration; Clock::now() < end; ++kills) {
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 5000));
    auto& victim = mortals[random() % mortals.size()];
    ASSERT_EQ(victim->kill(), 128 + SIGKILL) << "a key that is new to the table was refused";
    victim.emplace(competitor(name++, *of_the_dead));
  }

  EXPECT_GT(kills, 50U);
  for (std::size_t i = 0; i < survivors.size(); ++i) {
    const Progress& own = (*progress)[i];
    const auto gap = own.gap();
    std::printf("survivor %zu: %lu grants, longest gap %.3f s\n", i, own.grants.load(),
                std::chrono::duration<double>(gap).count());
    EXPECT_LT(gap, kLongestGap);
    EXPECT_EQ(survivors[i].kill(), 128 + SIGKILL) << "a key that is new to the table was refused";
  }
  std::printf("%u kills, %lu grants to the dead\n", kills, of_the_dead->grants.load());
}

}  // namespace
}  // namespace mortise::crash
