// Being told of deaths.
#include "segment/death_watch.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "segment/segment.hpp"
#include "support/child_process.hpp"
#include "support/eventually.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

namespace mortise::segment {
namespace {

using namespace std::chrono_literals;
using test::Channel;
using test::ChildProcess;
using test::count_threads;
using test::eventually;
using test::thread_ids;

// The line of the kernel's that says how often the thread went to sleep.
std::string sleeps_of(const std::string& thread) {
  std::ifstream status("/proc/self/task/" + thread + "/status");
  std::string line;
  while (std::getline(status, line) && line.rfind("voluntary_ctxt_switches", 0) != 0) continue;
  return line;
}

class DeathWatchTest : public testing::Test {
 protected:
  // A child that has attached, said its slot, and lives until it is told otherwise.
  [[nodiscard]] ChildProcess attached_child() const {
    return ChildProcess([this](Channel& parent) {
      const auto slot = slots().attach([](ProcessSlot) {});
      parent.send(slot ? std::to_string(*slot) : "none");
      parent.await_end();
    });
  }
  [[nodiscard]] static ProcessSlot slot_of(const ChildProcess& child) {
    return static_cast<ProcessSlot>(std::stoi(child.receive()));
  }
  [[nodiscard]] ProcessSlots& slots() const { return segment_->processes(); }

  const test::Watchdog watchdog_;
  std::shared_ptr<Segment> segment_ =
      Segment::anonymous({.fingerprint = 1,
                          .slots = 64,
                          .processes = 64,
                          .guard = Guard::robust_mutex,
                          .body_bytes = 4096,
                          .make_body = [](const Header&, std::byte*) { return true; },
                          .highest_fence = {}});
};

TEST_F(DeathWatchTest, CallsOnceAfterTheDeathAndNotBefore) {
  ChildProcess child = attached_child();
  std::atomic<int> calls = 0;
  const DeathWatch watch(slots(), slot_of(child), [&] { ++calls; });
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(calls, 0);
  child.kill();
  EXPECT_TRUE(eventually([&] { return calls == 1; }));
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(calls, 1);
}

TEST_F(DeathWatchTest, AZombieIsDead) {
  const ChildProcess child = attached_child();
  std::atomic<int> calls = 0;
  const DeathWatch watch(slots(), slot_of(child), [&] { ++calls; });
  child.signal(SIGKILL);
  child.await_death();
  EXPECT_TRUE(eventually([&] { return calls == 1; }));
}

TEST_F(DeathWatchTest, WhoIsDeadAlreadyIsReportedByTheConstructor) {
  ChildProcess child = attached_child();
  const ProcessSlot slot = slot_of(child);
  child.kill();
  int calls = 0;
  const DeathWatch watch(slots(), slot, [&] { ++calls; });
  EXPECT_EQ(calls, 1);
}

// Its main thread is gone, and another one goes on.
TEST_F(DeathWatchTest, WhoHasAThreadLeftIsAlive) {
  ChildProcess child([&](Channel& parent) {
    const auto slot = slots().attach([](ProcessSlot) {});
    std::thread([&parent, slot] {
      while (!std::filesystem::exists("/proc/self/task/" + std::to_string(getpid()))) continue;
      parent.send(std::to_string(*slot));
      for (;;) pause();
    }).detach();
    syscall(SYS_exit, 0);
  });
  std::atomic<int> calls = 0;
  const DeathWatch watch(slots(), slot_of(child), [&] { ++calls; });
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(calls, 0);
  child.kill();
  EXPECT_TRUE(eventually([&] { return calls == 1; }));
}

TEST_F(DeathWatchTest, AStoppedProcessIsAlive) {
  ChildProcess child = attached_child();
  std::atomic<int> calls = 0;
  const DeathWatch watch(slots(), slot_of(child), [&] { ++calls; });
  child.stop();
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(calls, 0);
  child.kill();
  EXPECT_TRUE(eventually([&] { return calls == 1; }));
}

TEST_F(DeathWatchTest, EachOfManyIsCalledForItsOwnProcess) {
  std::vector<ChildProcess> children;
  std::vector<std::atomic<int>> calls(8);
  std::list<DeathWatch> watches;
  for (auto& mine : calls) {
    children.push_back(attached_child());
    const ProcessSlot slot = slot_of(children.back());
    for (int i = 0; i < 2; ++i) watches.emplace_back(slots(), slot, [&mine] { ++mine; });
  }
  for (std::size_t i = 0; i < calls.size(); i += 2) children[i].kill();
  for (std::size_t i = 0; i < calls.size(); i += 2) {
    EXPECT_TRUE(eventually([&] { return calls[i] == 2; })) << i;
    EXPECT_EQ(calls[i + 1], 0) << i + 1;
  }
}

// The destructor waits for the call, or prevents it.
TEST_F(DeathWatchTest, IsSilentAfterItsEnd) {
  for (int round = 0; round < 50; ++round) {
    ChildProcess child = attached_child();
    const ProcessSlot slot = slot_of(child);
    std::atomic<bool> over = false;
    std::atomic<bool> late = false;
    auto watch = std::make_unique<DeathWatch>(slots(), slot, [&] { late = over.load(); });
    child.signal(SIGKILL);
    if (round % 2 == 0) child.await_death();
    watch.reset();
    over = true;
    child.wait();
    EXPECT_FALSE(late);
  }
}

TEST_F(DeathWatchTest, ThreadExistsWhileSomethingIsWatchedAndAMomentLonger) {
  const ChildProcess watched = attached_child();
  const ProcessSlot slot = slot_of(watched);
  ChildProcess child([&](Channel& parent) {
    const auto before = count_threads();
    for (int round = 0; round < 3; ++round) {
      {
        std::list<DeathWatch> watches;
        for (int i = 0; i < 5; ++i) watches.emplace_back(slots(), slot, [] {});
        parent.send(std::to_string(count_threads() - before));
      }
      const bool gone = eventually([&] { return count_threads() == before; });
      parent.send(gone ? "gone" : "still there though nothing is watched");
    }
  });
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(child.receive(), "1");
    EXPECT_EQ(child.receive(), "gone");
  }
}

// Two hundred processes that wait for hours must not cost two hundred wake-ups a second.
TEST_F(DeathWatchTest, ThreadSleepsThroughALongWatchAndHearsOfItsEnd) {
  const ChildProcess watched = attached_child();
  const ProcessSlot slot = slot_of(watched);
  ChildProcess child([&](Channel& parent) {
    const auto before = thread_ids();
    auto watch = std::make_unique<DeathWatch>(slots(), slot, [] {});
    std::string watcher;
    for (const std::string& id : thread_ids())
      if (!before.contains(id)) watcher = id;
    const bool slept = eventually([&] {
      const std::string sleeps = sleeps_of(watcher);
      std::this_thread::sleep_for(1500ms);
      return sleeps_of(watcher) == sleeps;
    });
    parent.send(slept ? "slept" : "woke up again and again");
    watch.reset();
    const bool gone = eventually([&] { return thread_ids() == before; });
    parent.send(gone ? "gone" : "still there though nothing is watched");
  });
  EXPECT_EQ(child.receive(), "slept");
  EXPECT_EQ(child.receive(), "gone");
}

TEST_F(DeathWatchTest, ForkedChildHasAWatcherOfItsOwn) {
  ChildProcess watched = attached_child();
  const ProcessSlot slot = slot_of(watched);
  std::atomic<int> calls = 0;
  const DeathWatch watch(slots(), slot, [&] { ++calls; });
  ChildProcess child([&](Channel& parent) {
    std::atomic<int> calls_in_the_child = 0;
    const DeathWatch another(slots(), slot, [&] { ++calls_in_the_child; });
    parent.send("watching");
    if (!eventually([&] { return calls_in_the_child == 1; })) _exit(1);
    if (calls != 0) _exit(2);
  });
  ASSERT_EQ(child.receive(), "watching");
  watched.kill();
  EXPECT_EQ(child.wait(), 0);
  EXPECT_TRUE(eventually([&] { return calls == 1; }));
}

}  // namespace
}  // namespace mortise::segment
