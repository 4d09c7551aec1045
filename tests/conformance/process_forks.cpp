// What a forked child can do with its copies of held handles: nothing (C17).
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <tuple>

#include "conformance/conformance.hpp"

extern char** environ;

namespace mortise::conformance {
namespace {

using namespace std::chrono_literals;
using test::Channel;
using test::ChildProcess;
using test::kSlack;
using test::Stopwatch;

int wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// Everything that a handle can be asked to do to its lease.
std::string try_everything(Lock& lock) {
  const auto refuses = [](const auto& operation) {
    try {
      operation();
      return false;
    } catch (const LockNotHeldError&) {
      return true;
    }
  };
  std::ostringstream answers;
  answers << std::boolalpha << "is_expired " << lock.is_expired() << ", extend refused "
          << refuses([&] { lock.extend(); }) << ", serialize refused "
          << refuses([&] { std::ignore = lock.serialize(); }) << ", detach " << lock.detach() << ", release "
          << lock.release() << ", is_locked " << lock.is_locked();
  return answers.str();
}
constexpr const char* kInert =
    "is_expired false, extend refused true, serialize refused true, detach false, release false, is_locked "
    "true";

TEST_P(ProcessConformance, C17_D1_ChildsCopyIsInert) {
  Lock lock = handle("k");
  ASSERT_TRUE(lock.acquire_immediately());
  ChildProcess child([&](Channel& test) {
    test.send(try_everything(lock));
    const Lock destroyed = std::move(lock);
  });
  EXPECT_EQ(child.receive(), kInert);
  EXPECT_EQ(child.wait(), 0);
  expect_held(lock);
}

TEST_P(ProcessConformance, C17_ChildMadeByACloneWithoutForkHandlersHasAnInertCopyToo) {
  Lock lock = handle("k");
  ASSERT_TRUE(lock.acquire_immediately());
  const auto child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  if (child == 0) {
    const bool inert = try_everything(lock) == kInert;
    { const Lock destroyed = std::move(lock); }
    _exit(inert ? 0 : 1);
  }
  EXPECT_EQ(wait_for(child), 0);
  expect_held(lock);
}

TEST_P(ProcessConformance, C17_D1_ChildThatExitsFreesNothing) {
  static std::optional<Lock> lives_until_exit;
  lives_until_exit = handle("k");
  ASSERT_TRUE(lives_until_exit->acquire_immediately());
  ChildProcess child([](Channel&) { std::exit(0); });
  EXPECT_EQ(child.wait(), 0);
  expect_held(*lives_until_exit);
  lives_until_exit.reset();
}

TEST_P(ProcessConformance, C17_D1_ChildThatLeavesARunFreesNothing) {
  ChildProcess parent([&](Channel& test) {
    Lock lock = handle("k");
    bool is_child = false;
    const auto result = lock.run([&] {
      const pid_t child = fork();
      is_child = child == 0;
      if (is_child) return;
      test.send(wait_for(child) == 0 ? "the child found its run lost" : "the child believes in its run");
      std::ignore = test.receive();
    });
    if (is_child) _exit(result.lost() ? 0 : 1);
    test.send(result.lost() ? "lost" : "held to the end");
  });
  EXPECT_EQ(parent.receive(), "the child found its run lost");
  EXPECT_FALSE(is_free("k"));
  parent.send("go on");
  EXPECT_EQ(parent.receive(), "held to the end");
}

TEST_P(ProcessConformance, C17_D1_ChildThatThrowsOutOfARunFreesNothing) {
  ChildProcess parent([&](Channel& test) {
    Lock lock = handle("k");
    const auto result = [&] {
      try {
        return lock.run([&] {
          const pid_t child = fork();
          if (child == 0) throw std::runtime_error("in the child");
          test.send(wait_for(child) == 0 ? "the child is gone" : "the child failed");
          std::ignore = test.receive();
        });
      } catch (const std::runtime_error&) {
        _exit(0);
      }
    }();
    test.send(result.lost() ? "lost" : "held to the end");
  });
  EXPECT_EQ(parent.receive(), "the child is gone");
  EXPECT_FALSE(is_free("k"));
  parent.send("go on");
  EXPECT_EQ(parent.receive(), "held to the end");
}

TEST_P(ProcessConformance, C17_D1_SpawnedProgramFreesNothing) {
  Lock lock = handle("k");
  ASSERT_TRUE(lock.acquire_immediately());
  std::array<char, 5> name = {"true"};
  std::array<char*, 2> arguments = {name.data(), nullptr};
  pid_t child = -1;
  ASSERT_EQ(posix_spawnp(&child, name.data(), nullptr, nullptr, arguments.data(), environ), 0);
  EXPECT_EQ(wait_for(child), 0);
  expect_held(lock);
}

TEST_P(ProcessConformance, C17_ChildMayAcquireForItselfWithTheHandle) {
  Lock lock = handle("k");
  ASSERT_TRUE(lock.acquire_immediately());
  ChildProcess child([&](Channel& test) {
    test.send(lock.acquire_immediately() ? "granted" : "refused");
    std::ignore = test.receive();
    test.send(lock.acquire_immediately() ? "granted" : "refused");
    std::ignore = test.receive();
    test.send(lock.release() ? "released" : "lost");
  });
  EXPECT_EQ(child.receive(), "refused");
  EXPECT_TRUE(lock.release());
  child.send("it is free");
  EXPECT_EQ(child.receive(), "granted");
  EXPECT_FALSE(is_free("k"));
  EXPECT_FALSE(lock.release()) << "the child's lease is not the parent's";
  child.send("release it");
  EXPECT_EQ(child.receive(), "released");
  EXPECT_TRUE(is_free("k"));
}

TEST_P(ProcessConformance, C17_ChildTakesOverWithTheTextOfTheParent) {
  Lock lock = handle("k");
  ASSERT_TRUE(lock.acquire_immediately());
  const std::string text = lock.serialize();
  ChildProcess child([&](Channel& test) {
    Lock restored = restore_lock(text, connect());
    restored.extend(60s);
    test.send(restored.release() ? "released" : "lost");
  });
  EXPECT_EQ(child.receive(), "released");
  EXPECT_TRUE(lock.is_expired());
  EXPECT_FALSE(lock.release());
}

// The lease ends with the process that acquired it, whatever copies its children have.
TEST_P(ProcessConformance, C17_D1_ChildrenDoNotKeepTheLeaseOfADeadParent) {
  if (!GetParam().dead_holder_freed_at_once)
    GTEST_SKIP() << "a dead holder's lease lasts until its expiry anyhow";
  ChildProcess parent([&](Channel& test) {
    Lock lock = handle("k");
    if (!lock.acquire_immediately()) _exit(1);
    Lock other = handle("the child's own");
    const pid_t child = fork();
    if (child == 0) test.send(other.acquire_immediately() ? "granted" : "refused");
    test.await_end();  // both stay until the test is over
  });
  ASSERT_EQ(parent.receive(), "granted");
  parent.kill();
  EXPECT_TRUE(is_free("k"));
  EXPECT_FALSE(is_free("the child's own")) << "it is alive";
}

TEST_P(ProcessConformance, C17_ProgramsThatWereStartedDoNotKeepTheLeaseOfADeadParent) {
  if (!GetParam().dead_holder_freed_at_once)
    GTEST_SKIP() << "a dead holder's lease lasts until its expiry anyhow";
  ChildProcess parent([&](Channel& test) {
    Lock lock = handle("k");
    if (!lock.acquire_immediately()) _exit(1);
    // "cat" runs until the test closes its end of the connection.
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, test.descriptor(), STDIN_FILENO);
    std::array<char, 4> name = {"cat"};
    std::array<char*, 2> arguments = {name.data(), nullptr};
    pid_t program = -1;
    if (posix_spawnp(&program, name.data(), &actions, nullptr, arguments.data(), environ) != 0) _exit(1);
    test.send("started");
    pause();
  });
  ASSERT_EQ(parent.receive(), "started");
  EXPECT_FALSE(is_free("k"));
  parent.kill();
  // A program that is just being started has the parent's descriptors for a moment yet.
  const Stopwatch since_death;
  EXPECT_TRUE(handle("k").acquire(patiently()));
  EXPECT_LT(since_death.elapsed(), kSlack);
}

}  // namespace
}  // namespace mortise::conformance
