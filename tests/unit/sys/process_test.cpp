#include "sys/process.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <thread>

#include "support/child_process.hpp"
#include "sys/entropy.hpp"

namespace mortise::sys {
namespace {

using test::Channel;
using test::ChildProcess;

TEST(Incarnation, IsTheSameForAllThreads) {
  const std::uint64_t here = incarnation();
  EXPECT_NE(here, 0U);
  std::uint64_t there = 0;
  std::thread([&there] { there = incarnation(); }).join();
  EXPECT_EQ(here, there);
}

TEST(Incarnation, DiffersInAForkedChild) {
  const std::uint64_t here = incarnation();
  ChildProcess child([](Channel& parent) { parent.send(std::to_string(incarnation())); });
  EXPECT_NE(child.receive(), std::to_string(here));
  EXPECT_EQ(incarnation(), here);
}

TEST(Incarnation, DiffersInAClonedChildThatNoForkHandlerSaw) {
  const std::uint64_t here = incarnation();
  const long child = syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (child == 0) _exit(incarnation() == here ? 1 : 0);
  ASSERT_GT(child, 0);
  int status = 0;
  ASSERT_EQ(waitpid(static_cast<pid_t>(child), &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(ThreadRandom, GoesAnotherWayInAForkedChild) {
  (void)thread_random();
  ChildProcess child([](Channel& parent) { parent.send(std::to_string(thread_random())); });
  EXPECT_NE(child.receive(), std::to_string(thread_random()));
}

TEST(ThreadRandom, RepeatsNothing) {
  constexpr std::size_t kDrawn = 100'000;
  std::set<std::uint64_t> seen;
  for (std::size_t i = 0; i < kDrawn; ++i) seen.insert(thread_random());
  EXPECT_EQ(seen.size(), kDrawn);
}

TEST(Process, FindsThreadsByTheirIds) {
  EXPECT_TRUE(thread_exists(getpid()));
  std::thread([] { EXPECT_TRUE(thread_exists(gettid())) << "it leads no process"; }).join();
  ChildProcess child([](Channel&) {});
  const pid_t gone = child.pid();
  ASSERT_EQ(child.wait(), 0);
  EXPECT_FALSE(thread_exists(gone));
  EXPECT_FALSE(thread_exists(0));
  EXPECT_FALSE(thread_exists(-1));
}

TEST(Process, KnowsItsSurroundings) {
  EXPECT_EQ(boot_id().size(), 36U);
  EXPECT_NE(identity_of("/proc/self/ns/pid"), FileIdentity{});
  EXPECT_EQ(identity_of("/no/such/file"), FileIdentity{});
  EXPECT_STREQ(command_name().data(), "unit_sys");
}

}  // namespace
}  // namespace mortise::sys
