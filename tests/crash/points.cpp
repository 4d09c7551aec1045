#include "crash/points.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <set>
#include <string_view>

#include "support/figures.hpp"

namespace mortise::crash {

namespace {

// Of all campaigns of this program.
class Totals : public testing::Environment {
 public:
  void add(std::size_t interruptions, std::size_t failures) {
    ++operations_;
    interruptions_ += interruptions;
    failures_ += failures;
  }
  void TearDown() override {
    std::printf("%zu operations, %zu interruptions, %zu failures\n", operations_, interruptions_, failures_);
  }

  static Totals& instance() {
    // GoogleTest owns it.
    static auto* const totals = new Totals;
    static const auto* const registered = testing::AddGlobalTestEnvironment(totals);
    std::ignore = registered;
    return *totals;
  }

 private:
  std::size_t operations_ = 0;
  std::size_t interruptions_ = 0;
  std::size_t failures_ = 0;
};
[[maybe_unused]] const Totals& registered_before_the_tests_run = Totals::instance();

bool is_system_call(std::uint64_t address) {
  // A forked child has its code where its parent has it.
  const auto* code = reinterpret_cast<const unsigned char*>(address);
  return code[0] == 0x0f && code[1] == 0x05;
}

bool all_points_are_wanted() {
  const char* wanted = std::getenv("MORTISE_CRASH_POINTS");
  return wanted != nullptr && std::string_view(wanted) == "all";
}

}  // namespace

Course follow(Tracee& tracee, const std::function<bool()>& has_changed) {
  Course course;
  std::map<std::uint64_t, unsigned> occurrences;
  while (!tracee.has_returned()) {
    const std::uint64_t address = tracee.next_instruction();
    const std::size_t here = course.boundaries.size();
    course.boundaries.push_back({Moment::Kind::before_instruction, address, occurrences[address]++, here});
    const bool system_call = is_system_call(address);
    tracee.step();
    const bool changed = has_changed();
    if (changed) ++course.images;
    if (changed || system_call) course.changes.push_back(here + 1);
  }
  course.boundaries.push_back({Moment::Kind::returned, 0, 0, course.boundaries.size()});
  return course;
}

std::vector<Moment> choose(const Course& course, Density density) {
  const std::size_t last = course.boundaries.size() - 1;
  std::set<std::size_t> chosen;
  const std::size_t step = all_points_are_wanted() ? 1 : std::max<std::size_t>(1, last / density.spread);
  for (std::size_t i = 0; i < last; i += step) chosen.insert(i);
  chosen.insert(last);
  for (const std::size_t change : course.changes) {
    const std::size_t end = std::min(last, change + density.near);
    for (std::size_t i = change - std::min(change, density.near + 1); i <= end; ++i) chosen.insert(i);
  }
  std::vector<Moment> moments;
  for (const std::size_t i : chosen) moments.push_back(course.boundaries[i]);
  return moments;
}

namespace {

Interruption interrupt_or_explain(const std::function<Interruption(const Moment&)>& interrupt,
                                  const Moment& moment) {
  try {
    return interrupt(moment);
  } catch (const std::exception& error) {
    Interruption failed{true, {}};
    failed.findings.expect(false, error.what());
    return failed;
  }
}

}  // namespace

void carry_out(const Campaign& campaign, const std::function<Interruption(const Moment&)>& interrupt) {
  constexpr std::size_t kEnoughFailures = 5;
  std::size_t tried = 0;
  std::size_t missed = 0;
  std::size_t failed = 0;
  for (const Moment& moment : campaign.moments) {
    const auto [came, findings] = interrupt_or_explain(interrupt, moment);
    ++tried;
    if (!came) ++missed;
    if (findings.empty()) continue;
    ADD_FAILURE() << campaign.operation << " interrupted " << moment.text() << ":\n" << findings.text();
    if (++failed == kEnoughFailures) break;
  }
  std::array<char, 200> line{};
  std::snprintf(line.data(), line.size(),
                "crash  %-32s %6zu instructions %5zu images %5zu %s (%zu missed) %zu failures",
                campaign.operation.c_str(), campaign.course.boundaries.size() - 1, campaign.course.images,
                tried, campaign.interruption, missed, failed);
  test::report_figures(line.data());
  constexpr std::size_t kMissedAtMost = 10;  // one in so many
  EXPECT_LE(missed * kMissedAtMost, tried) << "the operation takes another course than when it was followed";
  Totals::instance().add(tried, failed);
}

}  // namespace mortise::crash
