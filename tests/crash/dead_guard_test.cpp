// Processes that died while they added a key, and the first who comes after them.
#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <tuple>
#include <vector>

#include "crash/survivors.hpp"
#include "crash/trials.hpp"
#include "support/child_process.hpp"
#include "support/shared.hpp"
#include "support/stopwatch.hpp"

namespace mortise::crash {
namespace {

using namespace std::chrono_literals;
using test::Channel;
using test::ChildProcess;
using test::kSlack;
using test::Stopwatch;

class DeadGuard : public testing::Test {
 protected:
  void SetUp() override {
    const std::string reason = why_tracing_is_refused();
    if (!reason.empty()) GTEST_SKIP() << reason;
  }

  // A process that starts, opens the segment, and acquires the keys one after the other.
  static ChildProcess newcomer(const World& world, const std::vector<std::string>& keys,
                               const test::ProcessBarrier* together = nullptr) {
    return ChildProcess([&world, keys, together](Channel& test) {
      if (together != nullptr) together->arrive_and_wait();
      const Stopwatch watch;
      const auto store = world.open();
      for (const std::string& key : keys) {
        if (!lock(LockKey(key), 1s, store).acquire({.timeout = 1s})) return test.send(key + " refused");
      }
      test.send(watch.elapsed() < kSlack ? "granted" : "granted late");
    });
  }

 private:
  test::Watchdog watchdog_;
};

TEST_F(DeadGuard, A3_FirstWhoOpensTheSegmentAcquiresAKnownAndANewKey) {
  for (const auto guard : {WorldPlan::Guard::reserved, WorldPlan::Guard::written}) {
    const World world({.known_keys = WorldPlan::kFullStripe, .guard = guard});
    EXPECT_EQ(newcomer(world, {world.known_key(), "new"}).receive(), "granted");
    world.restore();
    EXPECT_EQ(newcomer(world, {"new", world.known_key()}).receive(), "granted");
  }
}

TEST_F(DeadGuard, A3_InspectionLeavesTheRepairToTheNextWhoAcquires) {
  const World world({.known_keys = WorldPlan::kFullStripe, .guard = WorldPlan::Guard::reserved});
  ChildProcess inspector([&](Channel& test) {
    const Findings findings = view(world, world.image());
    test.send(findings.empty() ? "nothing changed" : findings.text());
  });
  EXPECT_EQ(inspector.receive(), "nothing changed");
  EXPECT_EQ(newcomer(world, {"new", world.known_key()}).receive(), "granted");
  EXPECT_TRUE(unsound(world.image()).empty()) << unsound(world.image()).text();
}

TEST_F(DeadGuard, A3_TwoWhoOpenTheSegmentAtTheSameMomentAreBothServed) {
  constexpr int kRounds = 20;
  const World world({.known_keys = WorldPlan::kFullStripe, .guard = WorldPlan::Guard::written});
  const test::ProcessBarrier together(2);
  for (int round = 0; round < kRounds; ++round) {
    world.restore();
    const ChildProcess first = newcomer(world, {"new", "newer"}, &together);
    const ChildProcess second = newcomer(world, {"new", world.known_key()}, &together);
    EXPECT_EQ(first.receive(), "granted");
    EXPECT_EQ(second.receive(), "granted");
  }
}

// The next process gets the key, and an inspection shows its lease and nothing that the dead one left.
Interruption kill_and_succeed(const World& world, const Operation& operation, const Moment& moment) {
  Staging staging(world, operation);
  const bool came = staging.victim().run_to(moment);
  staging.victim().kill();
  ChildProcess next([&](Channel& test) {
    Lock lock = mortise::lock(kKey, 1h, world.open());
    test.send(lock.acquire({.timeout = 2500ms}) ? "granted" : "refused");
    std::ignore = test.receive();
  });
  Findings findings;
  const Stopwatch watch;
  findings.expect(next.receive() == "granted", "the key is refused");
  findings.expect(watch.elapsed() < kPrompt, "the key is granted late");
  std::vector<std::string> seen;
  for (const LeaseInfo& lease : open_view("shm:" + world.path())->leases()) {
    seen.emplace_back(lease.key.bytes());
    const bool complete =
        lease.holder && lease.holder->alive && lease.remaining > 0ms && lease.fencing_token > 0;
    findings.expect(complete, seen.back() + " has no complete holder and expiry");
    const bool of_next = lease.holder && lease.holder->pid == next.pid();
    findings.expect(of_next == (lease.key == LockKey(kKey)), "the key is not shown as the next process's");
  }
  findings.expect(seen == std::vector<std::string>{"bystander:1", "bystander:2", kKey},
                  "other leases are seen");
  return {came, findings};
}

TEST_F(DeadGuard, A5_KeyIsFreeWhereverItsCreatorWasKilled) {
  constexpr Density kDensity{.near = 2, .spread = 20};
  interrupt_everywhere({.name = "A5CreationOfAKey", .world = {}, .kind = Operation::Kind::acquire}, kDensity,
                       "kills", kill_and_succeed);
}

}  // namespace
}  // namespace mortise::crash
