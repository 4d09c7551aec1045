// Processes of different containers on one segment. A container is a pid namespace of its own, where the same
// pids and thread ids are other processes.
#include <gmock/gmock.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <tuple>

#include "mortise/mortise.hpp"
#include "support/child_outcomes.hpp"
#include "support/child_process.hpp"
#include "support/shared.hpp"
#include "support/stopwatch.hpp"
#include "support/temporary_directory.hpp"
#include "support/watchdog.hpp"

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kNoNamespace = "the kernel gives this user no such namespace";

bool enter_namespaces_for_children(int flags) {
  return unshare(geteuid() == 0 ? flags : flags | CLONE_NEWUSER) == 0;
}

// A child whose own children are in new namespaces. `body` runs in such a child: in a new pid namespace with
// pid 2, and another after it with pid 3.
ChildProcess container(int flags, const std::function<void(Channel& test)>& body) {
  return ChildProcess([=](Channel& test) {
    if (!enter_namespaces_for_children(flags)) return test.send(kNoNamespace);
    ChildProcess init([&](Channel&) {
      ChildProcess user([&](Channel&) { body(test); });
      user.wait();
      // Whoever gets the dead one's pid is somebody else.
      std::ofstream("/proc/sys/kernel/ns_last_pid") << 1;
      ChildProcess unrelated([&](Channel& end) { end.await_end(); });
      test.await_end();
    });
    init.wait();
  });
}

class Namespaces : public testing::Test {
 protected:
  [[nodiscard]] std::shared_ptr<LockStore> open(ShapeGuard guard) const {
    return std::make_shared<ShmLockStore>(path, SegmentOptions{.slots = 64, .processes = 16, .guard = guard});
  }

  const Watchdog watchdog;
  const TemporaryDirectory directory;
  const std::string path = directory.file("segment");
};

TEST_F(Namespaces, G3_ForeignPidNamespaceIsRefusedAndTheLeaseUndisturbed) {
  Lock held = lock("k", 1h, open(ShapeGuard::robust_mutex));
  ASSERT_TRUE(held.acquire_immediately());
  const ChildProcess other = container(CLONE_NEWPID, [&](Channel& test) {
    try {
      std::ignore = open(ShapeGuard::file_lock);
      test.send("opened");
    } catch (const StoreError& error) {
      test.send(error.code() == StoreErrc::foreign_namespace ? error.what() : "something else");
    }
  });
  const std::string answer = other.receive();
  if (answer == kNoNamespace) GTEST_SKIP() << answer;
  EXPECT_THAT(answer, testing::HasSubstr("pid namespace"));
  EXPECT_THAT(answer, testing::HasSubstr("guard=file")) << "it says what to do";
  EXPECT_TRUE(held.release());
}

// It has the mapping and the store of its parent, and yet not its namespace.
TEST_F(Namespaces, ChildBornIntoAnotherPidNamespaceIsRefused) {
  const auto store = open(ShapeGuard::robust_mutex);
  ASSERT_TRUE(lock("k", 1h, store).acquire_immediately());
  const ChildProcess other = container(CLONE_NEWPID, [&](Channel& test) {
    test.send(outcome_of([&] { std::ignore = lock("k", 1s, store).acquire_immediately(); }));
  });
  const std::string answer = other.receive();
  if (answer == kNoNamespace) GTEST_SKIP() << answer;
  EXPECT_EQ(answer, "segment of another namespace");
}

TEST_F(Namespaces, ForeignTimeNamespaceIsRefused) {
  for (const ShapeGuard guard : {ShapeGuard::robust_mutex, ShapeGuard::file_lock}) {
    std::filesystem::remove(path);
    const auto store = open(guard);
    const ChildProcess other = container(CLONE_NEWTIME, [&](Channel& test) {
      test.send(outcome_of([&] { std::ignore = open(guard); }) + ", " +
                outcome_of([&] { std::ignore = lock("k", 1s, store).acquire_immediately(); }));
    });
    const std::string answer = other.receive();
    if (answer == kNoNamespace) GTEST_SKIP() << answer;
    EXPECT_EQ(answer, "segment of another namespace, segment of another namespace");
  }
}

class FileGuard : public Namespaces {
 protected:
  void expect_sound() const {
    for (const Finding& finding : open_view("shm:" + path)->check())
      EXPECT_NE(finding.severity, Finding::Severity::damage) << finding.sentence;
  }
  // Acquires k; when told so, hands it over; when told so, dies.
  [[nodiscard]] ChildProcess holder(bool hands_over) const {
    return container(CLONE_NEWPID, [this, hands_over](Channel& test) {
      Lock held = lock("k", 5s, open(ShapeGuard::file_lock));
      const bool granted = held.acquire_immediately();
      if (hands_over) std::ignore = held.serialize();
      test.send(granted ? "granted to " + std::to_string(getpid()) : "refused");
      std::ignore = test.receive();
      kill(getpid(), SIGKILL);
    });
  }
  // Tries k at once; when told so, waits for it.
  [[nodiscard]] ChildProcess other() const {
    return container(CLONE_NEWPID, [this](Channel& test) {
      Lock wanted = lock("k", 1s, open(ShapeGuard::file_lock));
      const bool granted = wanted.acquire_immediately();
      test.send((granted ? "granted to " : "refused to ") + std::to_string(getpid()));
      std::ignore = test.receive();
      const Stopwatch watch;
      const bool in_the_end = wanted.acquire({.timeout = 8s, .retry_delay = 8s});  // woken, or not at all
      const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(watch.elapsed());
      test.send(in_the_end ? std::to_string(waited.count()) : "refused");
    });
  }
  // How long another waits after the holder was killed; nullopt: no namespaces here.
  std::optional<std::chrono::milliseconds> wait_after_death(bool hands_over) const {
    const ChildProcess first = holder(hands_over);
    const std::string granted = first.receive();
    if (granted == kNoNamespace) return std::nullopt;
    EXPECT_EQ(granted, "granted to 2");
    const ChildProcess second = other();
    EXPECT_EQ(second.receive(), "refused to 2");
    second.send("wait");
    std::this_thread::sleep_for(100ms);
    first.send("die");
    return std::chrono::milliseconds(std::stol(second.receive()));
  }
};

TEST_F(FileGuard, G3_DeathOfAHolderFreesItsLeaseAcrossContainers) {
  const auto waited = wait_after_death(false);
  if (!waited) GTEST_SKIP() << kNoNamespace;
  EXPECT_LT(*waited, 2s);
}

TEST_F(FileGuard, G3_LeaseThatWasHandedOverLastsUntilItsExpiry) {
  const auto waited = wait_after_death(true);
  if (!waited) GTEST_SKIP() << kNoNamespace;
  EXPECT_GT(*waited, 2s);
  EXPECT_LT(*waited, 7s);
}

// Equal thread ids on both sides: an owner check by thread id would take the other for itself.
TEST_F(FileGuard, G3_EqualThreadIdsExcludeEachOtherFromTheShape) {
  static constexpr auto kTime = 2s;
  const auto hammer = [&](const std::string& prefix) {
    return container(CLONE_NEWPID, [this, prefix](Channel& test) {
      test.send("ready");
      std::ignore = test.receive();
      test.send(outcome_of([&] {
        const auto store = open(ShapeGuard::file_lock);
        const Stopwatch watch;
        for (int i = 0; watch.elapsed() < kTime; ++i) {
          Lock mine = lock(prefix + std::to_string(i), 1h, store);
          if (!mine.acquire_immediately() || !mine.release())
            throw std::runtime_error("not granted, or lost");
        }
      }));
    });
  };
  const ChildProcess first = hammer("a");
  const ChildProcess second = hammer("b");
  for (const ChildProcess* each : {&first, &second}) {
    if (const std::string answer = each->receive(); answer == kNoNamespace) GTEST_SKIP() << answer;
    each->send("go");
  }
  EXPECT_EQ(first.receive(), "no error");
  EXPECT_EQ(second.receive(), "no error");
  expect_sound();
}

TEST_F(FileGuard, ThreadsOfOneProcessExcludeEachOther) {
  const auto store = open(ShapeGuard::file_lock);
  std::atomic<int> failures = 0;
  const auto hammer = [&](const std::string& prefix) {
    for (int i = 0; i < 5000; ++i) {
      Lock mine = lock(prefix + std::to_string(i), 1h, store);
      if (!mine.acquire_immediately() || !mine.release()) ++failures;
    }
  };
  std::thread first(hammer, "a");
  std::thread second(hammer, "b");
  first.join();
  second.join();
  EXPECT_EQ(failures, 0);
  expect_sound();
}

TEST_F(FileGuard, WhoIsKilledWhileItAddsAKeyHoldsUpNobody) {
  constexpr int kKills = 300;
  std::mt19937 random(1);
  const auto store = open(ShapeGuard::file_lock);
  for (int i = 0; i < kKills; ++i) {
    ChildProcess victim([&](Channel&) {
      for (int j = 0;; ++j) std::ignore = lock("v" + std::to_string(j), 1h, store).acquire_immediately();
    });
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
    victim.kill();
    expect_sound();
    const Stopwatch watch;
    ASSERT_TRUE(lock("new" + std::to_string(i), 1h, store).acquire_immediately());
    ASSERT_LT(watch.elapsed(), 5s);
  }
}

TEST_F(FileGuard, WhoIsStoppedWhileItAddsAKeyHoldsUpNobodyPastTheDeadline) {
  const auto store = open(ShapeGuard::file_lock);
  Lock known = lock("known", 1h, store);
  ASSERT_TRUE(known.acquire_immediately());
  const ChildProcess victim([&](Channel& test) {
    test.send("goes on");
    for (int j = 0;; ++j) std::ignore = lock("v" + std::to_string(j), 1h, store).acquire_immediately();
  });
  std::ignore = victim.receive();
  int stalled = 0;
  for (int i = 0; i < 50; ++i) {
    victim.stop();
    const Stopwatch watch;
    const std::string outcome =
        outcome_of([&] { std::ignore = lock("new" + std::to_string(i), 1h, store).acquire_immediately(); });
    EXPECT_THAT(outcome, testing::AnyOf("no error", "stalled by another process"));
    stalled += outcome == "no error" ? 0 : 1;
    known.extend();
    EXPECT_LT(watch.elapsed(), 5s);
    victim.resume();
  }
  RecordProperty("stalled", stalled);
  EXPECT_EQ(outcome_of([&] { std::ignore = lock("new", 1h, store).acquire_immediately(); }), "no error");
}

}  // namespace
}  // namespace mortise::test
