// Several keys at once, asked for by several processes: nobody waits for ever.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "conformance/conformance.hpp"
#include "support/shared.hpp"

namespace mortise::conformance {
namespace {

using namespace std::chrono_literals;
using test::Channel;
using test::ChildProcess;

// Counters without any protection of their own.
TEST_P(ProcessConformance, C02_LockAll_ProcessesThatAskInRandomOrdersExcludeEachOtherAndMakeProgress) {
  constexpr unsigned kProcesses = 8;
  constexpr int kRounds = 50;
  static const std::string kLetters = "abcde";
  const test::Shared<std::array<int, 5>> counters;
  std::vector<ChildProcess> processes;
  for (unsigned i = 0; i < kProcesses; ++i) {
    processes.emplace_back([&, i](Channel&) {
      std::minstd_rand random(i + 1);
      std::array<std::size_t, 5> order{0, 1, 2, 3, 4};
      for (int round = 0; round < kRounds; ++round) {
        std::shuffle(order.begin(), order.end(), random);
        LockGroup three = group_of({kLetters[order[0]], kLetters[order[1]], kLetters[order[2]]});
        const auto work = [&] {
          for (const std::size_t key : {order[0], order[1], order[2]})
            (*counters)[key] = (*counters)[key] + 1;
        };
        if (!three.run(work, {.timeout = 30s, .retry_delay = 5ms})) _exit(1);
      }
    });
  }
  for (ChildProcess& process : processes) EXPECT_EQ(process.wait(), 0);
  int sum = 0;
  for (const int counter : *counters) sum += counter;
  EXPECT_EQ(sum, 3 * kRounds * int{kProcesses});
}

// A group and single locks, and std::scoped_lock from both sides.
TEST_P(ProcessConformance, StandardScopedLockTakesTwoKeysInAnyOrder) {
  constexpr int kRounds = 100;
  const test::Shared<int> counter;
  std::vector<ChildProcess> processes;
  for (const bool forth : {true, false}) {
    processes.emplace_back([&, forth](Channel&) {
      Lock first = handle(forth ? "a" : "b");
      Lock second = handle(forth ? "b" : "a");
      for (int i = 0; i < kRounds; ++i) {
        const std::scoped_lock both(first, second);
        *counter = *counter + 1;
      }
    });
  }
  processes.emplace_back([&](Channel&) {
    for (int i = 0; i < kRounds; ++i) {
      if (!group_of("ab").run([&] { *counter = *counter + 1; }, {.timeout = 30s, .retry_delay = 5ms}))
        _exit(1);
    }
  });
  for (ChildProcess& process : processes) EXPECT_EQ(process.wait(), 0);
  EXPECT_EQ(*counter, 3 * kRounds);
  EXPECT_EQ(held_of("ab"), "");
}

TEST_P(ProcessConformance, C20_LockAll_IsHandedFromOneProcessToAnother) {
  ChildProcess gives([&](Channel& test) {
    LockGroup all = group_of("abc");
    test.send(all.acquire_immediately() ? all.serialize() : "refused");
  });
  LockGroup all = restore_lock_all(gives.receive(), connect());
  EXPECT_EQ(gives.wait(), 0);
  EXPECT_EQ(held_of("abc"), "abc");
  EXPECT_NO_THROW(all.ensure_held());
  EXPECT_TRUE(all.release());
  EXPECT_EQ(held_of("abc"), "");
}

TEST_P(ProcessConformance, C17_LockAll_CopyOfAForkedChildIsInert) {
  LockGroup all = group_of("abc");
  ASSERT_TRUE(all.acquire_immediately());
  ChildProcess child([&](Channel& test) {
    bool refused = false;
    try {
      all.ensure_held();
    } catch (const LockNotHeldError&) {
      refused = true;
    }
    test.send(refused && !all.release() && !all.is_expired() ? "inert" : "not inert");
  });
  EXPECT_EQ(child.receive(), "inert");
  EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(held_of("abc"), "abc");
  EXPECT_TRUE(all.release());
}

}  // namespace
}  // namespace mortise::conformance
