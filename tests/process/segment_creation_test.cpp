// A segment that several processes make at the same moment, or that its maker does not finish: always one,
// and whole.
#include <gmock/gmock.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "mortise/mortise.hpp"
#include "support/child_process.hpp"
#include "support/shared.hpp"
#include "support/stopwatch.hpp"
#include "support/temporary_directory.hpp"
#include "support/watchdog.hpp"

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

class SegmentCreation : public testing::Test {
 protected:
  static std::shared_ptr<LockStore> open(const std::string& path, std::uint32_t slots) {
    return std::make_shared<ShmLockStore>(path, SegmentOptions{.slots = slots, .processes = 64});
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
      found.push_back(entry.path().filename());
    }
    return found;
  }

  Watchdog watchdog;
  TemporaryDirectory directory;
};

TEST_F(SegmentCreation, G6_ManyProcessesAtOnceMakeOneSegment) {
  constexpr unsigned kProcesses = 32;
  constexpr unsigned kRounds = 200;
  const ProcessBarrier together(kProcesses);
  const Shared<std::array<std::atomic<int>, kRounds>> grants;
  std::vector<ChildProcess> processes;
  for (unsigned i = 0; i < kProcesses; ++i) {
    processes.emplace_back([&](Channel&) {
      for (unsigned round = 0; round < kRounds; ++round) {
        const std::string path = directory.file(std::to_string(round));
        together.arrive_and_wait();
        Lock lock = mortise::lock("k", 20s, open(path, 64));
        (*grants)[round] += lock.acquire_immediately() ? 1 : 0;
        together.arrive_and_wait();
      }
    });
  }
  for (ChildProcess& process : processes) EXPECT_EQ(process.wait(), 0);
  for (unsigned round = 0; round < kRounds; ++round) EXPECT_EQ((*grants)[round], 1) << "round " << round;
  EXPECT_EQ(names().size(), kRounds) << "something half-made was left behind";
}

// A process on the way to make a segment that takes a while, and hold "k" in it. "stalled": another was
// stopped while it added that key.
ChildProcess maker(const std::string& path, const std::function<std::shared_ptr<LockStore>()>& open_it) {
  return ChildProcess([&](Channel& test) {
    test.send("going to make " + path);
    Lock lock = mortise::lock("k", 20s, open_it());
    try {
      test.send(lock.acquire_immediately() ? "granted" : "refused");
    } catch (const StoreError& error) {
      if (error.code() != StoreErrc::stalled) throw;
      test.send("stalled");
    }
    std::ignore = test.receive();
  });
}

TEST_F(SegmentCreation, KilledMakerLeavesNothingInTheWay) {
  constexpr std::uint32_t kSlots = 16384;
  const std::string path = directory.file("segment");
  for (int round = 0; round < 40; ++round) {
    ChildProcess first = maker(path, [&] { return open(path, kSlots); });
    std::ignore = first.receive();
    std::this_thread::sleep_for(100us * round);
    first.kill();
    const Stopwatch watch;
    ChildProcess second = maker(path, [&] { return open(path, kSlots); });
    std::ignore = second.receive();
    ASSERT_EQ(second.receive(), "granted") << "round " << round;
    EXPECT_LT(watch.elapsed(), 4 * kSlack);
    EXPECT_THAT(names(), testing::ElementsAre("segment"));
    std::filesystem::remove(path);
  }
}

TEST_F(SegmentCreation, StoppedMakerJoinsWhatAnotherMadeMeanwhile) {
  constexpr std::uint32_t kSlots = 16384;
  for (int round = 0; round < 30; ++round) {
    const std::string path = directory.file(std::to_string(round));
    ChildProcess first = maker(path, [&] { return open(path, kSlots); });
    std::ignore = first.receive();
    std::this_thread::sleep_for(150us * round);
    first.stop();
    const Stopwatch watch;
    ChildProcess second = maker(path, [&] { return open(path, kSlots); });
    std::ignore = second.receive();
    const std::string seconds = second.receive();
    EXPECT_LT(watch.elapsed(), 4 * kSlack);
    first.resume();
    const std::string firsts = first.receive();
    EXPECT_EQ((firsts == "granted") + (seconds == "granted"), 1) << "there is one table, whoever made it";
    EXPECT_NE(firsts, "stalled");
    std::filesystem::remove(path);
  }
}

}  // namespace
}  // namespace mortise::test
