// Every operation of the shared-memory store, killed between any two instructions: nobody waits for the dead,
// nothing is torn, no fence falls, and nobody else's lease is touched.
#include <gtest/gtest.h>

#include "crash/findings.hpp"
#include "crash/survivors.hpp"
#include "crash/trials.hpp"
#include "support/stopwatch.hpp"

namespace mortise::crash {
namespace {

using test::Stopwatch;

#if defined(__SANITIZE_ADDRESS__)
constexpr Density kDensity{.near = 1, .spread = 20};
#else
constexpr Density kDensity{.near = 3, .spread = 120};
#endif

// Who slept is granted the key, if the death of the victim or the end of its operation freed it.
Findings serve_sleeper(const Operation& operation, Staging& staging, const TableImage& after) {
  Findings findings;
  if (operation.waits && !staging.key_was_released()) {
    staging.start_sleeper(0);
    staging.release_key();
  }
  Sleeper* sleeper = staging.sleeper();
  if (sleeper == nullptr) return findings;
  const Stopwatch watch;
  findings.expect(sleeper->await_grant() >= after.find(kKey)->fence, "the sleeper's fence is too low");
  findings.expect(watch.elapsed() < sleeper->retry_delay() + kPrompt, "the sleeper was granted the key late");
  findings.expect(sleeper->release(), "the sleeper lost the key");
  return findings;
}

Interruption kill_at(const World& world, const Operation& operation, const Moment& moment) {
  Staging staging(world, operation);
  const bool came = staging.victim().run_to(moment);
  staging.victim().kill();
  const TableImage after = world.image();
  const Law law = staging.law(false);
  Findings findings = unsound(after);
  findings.add(check(world));
  findings.add(unlawful_changes(staging.before(), after, law));
  findings.add(serve_sleeper(operation, staging, after));

  const TableImage now = world.image();
  findings.add(view(world, now));
  findings.add(use_everything(world, look_out(world, staging.before(), now, law.live), staging.token()));
  findings.add(unsound(world.image()));
  findings.add(check(world));
  findings.expect(world.image().stripes.front().mutex_is_free(), "the mutex of the stripe was not unlocked");
  findings.add(ask_bystander(world));
  findings.expect(world.attached() == std::vector<pid_t>{world.bystander()}, "a process slot is lost");
  return {came, findings};
}

class KillPoints : public OperationTest {};

TEST_P(KillPoints, Leave) {
  interrupt_everywhere(GetParam(), kDensity, "kills", kill_at);
}

INSTANTIATE_TEST_SUITE_P(FileGuard, KillPoints, testing::ValuesIn(operations_under_a_file_guard(kLongTtl)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Crash, KillPoints, testing::ValuesIn(operations(kLongTtl)), name_of);

}  // namespace
}  // namespace mortise::crash
