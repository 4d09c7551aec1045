// What is common to the campaigns that kill and those that stop.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "crash/operation.hpp"
#include "crash/points.hpp"
#include "crash/staging.hpp"
#include "crash/tracee.hpp"
#include "crash/world.hpp"
#include "support/watchdog.hpp"

namespace mortise::crash {

inline Course follow(const World& world, Operation operation) {
  // Single steps are slow: what begins with a short lease would find it expired.
  operation.lease_before = kLongTtl;
  // And who looks again soon would be granted the key before the victim that was woken.
  if (operation.sleeper != Operation::Sleeper::none) operation.sleeper = Operation::Sleeper::patient;
  // Slowness adds to a course: after a second, the operation looks again whether the file was replaced. So
  // the shortest of some is the one that full speed takes.
  constexpr int kCourses = 3;
  Course shortest;
  for (int i = 0; i < kCourses; ++i) {
    Staging staging(world, operation);
    Watch watch(world.changing_part());
    Course course = follow(staging.victim(), [&] { return watch.changed(); });
    if (i == 0 || course.boundaries.size() < shortest.boundaries.size()) shortest = std::move(course);
  }
  return shortest;
}

using Interrupt = Interruption(const World&, const Operation&, const Moment&);

inline void interrupt_everywhere(const Operation& operation, Density density, const char* interruption,
                                 Interrupt* interrupt) {
  const World world(operation.world);
  Campaign campaign{operation.name, interruption, follow(world, operation), {}};
  campaign.moments = choose(campaign.course, density);
  if (operation.waits) campaign.moments.push_back({.kind = Moment::Kind::asleep});
  carry_out(campaign, [&](const Moment& moment) { return interrupt(world, operation, moment); });
}

// One test for each operation.
class OperationTest : public testing::TestWithParam<Operation> {
 protected:
  void SetUp() override {
    const std::string reason = why_tracing_is_refused();
    if (!reason.empty()) GTEST_SKIP() << reason;
  }

 private:
  static constexpr std::chrono::seconds kLimit{580};
  test::Watchdog watchdog_{kLimit};
};

inline std::string name_of(const testing::TestParamInfo<Operation>& info) {
  return info.param.name;
}
inline void PrintTo(const Operation& operation, std::ostream* out) {  // NOLINT(readability-identifier-naming)
  *out << operation.name;
}

}  // namespace mortise::crash
