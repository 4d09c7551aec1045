// The threads that the library makes for itself: when there are any, and how many.
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
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
#include "support/eventually.hpp"
#include "support/temporary_directory.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kAsItShouldBe = "as it should be";

// In a child, which begins with one thread.
void expect_in_a_child(const std::function<std::string()>& body) {
  ChildProcess child([&](Channel& test) { test.send(body()); });
  EXPECT_EQ(child.receive(), kAsItShouldBe);
}

class LibraryThreads : public testing::Test {
 protected:
  [[nodiscard]] std::shared_ptr<LockStore> open() const {
    return std::make_shared<ShmLockStore>(directory.file("segment"));
  }
  [[nodiscard]] Lock handle(LockKey key, Ttl ttl = 20s) const { return lock(std::move(key), ttl, store); }
  [[nodiscard]] Lock kept_alive(LockKey key, Ttl ttl = 20s) const {
    Lock made = handle(std::move(key), ttl);
    if (!made.acquire({.keep_alive = true})) throw std::runtime_error("refused");
    return made;
  }

  const Watchdog watchdog;
  const TemporaryDirectory directory;
  const std::shared_ptr<LockStore> store = open();
};

TEST_F(LibraryThreads, RenewerIsMadeWhenNeededAndGoneSomeTimeAfterTheLastRelease) {
  expect_in_a_child([&]() -> std::string {
    const auto before = count_threads();
    const auto gone = [&] { return count_threads() == before; };
    Lock plain = handle("plain", 20s);
    if (!plain.acquire({.timeout = 1s}) || !gone()) return "a thread that nobody needs";
    for (int round = 0; round < 3; ++round) {
      Lock first = kept_alive("first");
      Lock second = kept_alive("second");
      if (count_threads() != before + 1) return "not one thread";
      if (!first.release()) return "lost";
      std::this_thread::sleep_for(200ms);
      if (count_threads() != before + 1) return "the thread left though there is a lease";
      if (!second.release()) return "lost";
      if (!eventually(gone)) return "the thread stays";
      if (plain.lost_token().stop_requested()) return "lost";
      if (count_threads() != before + 1) return "no thread for a lost_token";
      if (!plain.release() || !plain.acquire_immediately()) return "lost";
      if (!eventually(gone)) return "the thread stays after a lost_token";
    }
    return kAsItShouldBe;
  });
}

TEST_F(LibraryThreads, OneRenewerIsEnoughForThousandsOfLeases) {
  expect_in_a_child([&]() -> std::string {
    constexpr auto kTtl = 1500ms;
    const auto before = count_threads();
    std::vector<Lock> locks;
    for (int i = 0; i < 2000; ++i) locks.push_back(kept_alive(LockKey(std::to_string(i)), kTtl));
    if (count_threads() != before + 1) return "not one thread";
    std::this_thread::sleep_for(kTtl + 500ms);
    for (Lock& lock : locks) lock.ensure_held();
    if (count_threads() != before + 1) return "not one thread";
    for (Lock& lock : locks) {
      if (!lock.release()) return "lost";
    }
    return eventually([&] { return count_threads() == before; }) ? kAsItShouldBe : "the thread stays";
  });
}

TEST_F(LibraryThreads, RenewerTakesNoSignals) {
  expect_in_a_child([&]() -> std::string {
    const Lock lock = kept_alive("k");
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      if (task.path().filename() == std::to_string(getpid())) continue;
      std::ifstream status(task.path() / "status");
      for (std::string line; std::getline(status, line);) {
        if (!line.starts_with("SigBlk:")) continue;
        const auto blocked = std::stoull(line.substr(line.find('\t')), nullptr, 16);
        for (const int number : {SIGHUP, SIGINT, SIGTERM, SIGALRM, SIGCHLD, SIGUSR1, SIGUSR2}) {
          if ((blocked >> (number - 1) & 1U) == 0) return "takes signal " + std::to_string(number);
        }
        return kAsItShouldBe;
      }
    }
    return "there is no thread";
  });
}

// The holder lives all the while.
TEST_F(LibraryThreads, WatcherOfHoldersIsThereWhileSomebodyWaitsAndNoLonger) {
  const ChildProcess holder([&](Channel& test) {
    Lock held = handle("k");
    test.send(held.acquire_immediately() ? "granted" : "refused");
    test.await_end();
  });
  ASSERT_EQ(holder.receive(), "granted");
  expect_in_a_child([&]() -> std::string {
    constexpr int kWaiters = 4;
    const auto before = count_threads();
    for (int round = 0; round < 3; ++round) {
      std::stop_source stop;
      std::atomic<int> refused = 0;
      {
        std::vector<std::jthread> waiters;
        for (int i = 0; i < kWaiters; ++i) {
          waiters.emplace_back([&] {
            const bool granted =
                handle("k").acquire({.timeout = 60s, .retry_delay = 60s, .stop = stop.get_token()});
            refused += granted ? 0 : 1;
          });
        }
        if (!eventually([&] { return count_threads() == before + kWaiters + 1; })) return "no watcher";
        std::this_thread::sleep_for(200ms);
        if (count_threads() != before + kWaiters + 1) return "not one watcher all the time";
        stop.request_stop();
      }
      if (refused != kWaiters) return "granted";
      if (!eventually([&] { return count_threads() == before; })) return "the watcher stays";
    }
    return kAsItShouldBe;
  });
}

TEST_F(LibraryThreads, WaitThatIsBriefNeedsNone) {
  Lock held = handle("k");
  ASSERT_TRUE(held.acquire_immediately());
  expect_in_a_child([&]() -> std::string {
    const auto before = count_threads();
    for (int i = 0; i < 100; ++i) {
      if (handle("k").acquire({.timeout = 500us})) return "granted";
    }
    return count_threads() == before ? kAsItShouldBe : "a thread was made";
  });
}

}  // namespace
}  // namespace mortise::test
