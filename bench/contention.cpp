// How often do several processes get one key that they all want all the time, how long do they wait, and is
// it fair?
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "peers/robust_mutex.hpp"
#include "support/exclusion.hpp"
#include "support/options.hpp"
#include "support/report.hpp"
#include "support/samples.hpp"
#include "support/team.hpp"

namespace mortise::bench {

namespace {

using namespace std::chrono_literals;

constexpr auto kCriticalSection = 200ns;
constexpr unsigned kMostProcesses = 8;

struct Outcome {
  double per_second;
  Samples waits;
  double smallest_share;  // of an equal share
};

void be_in_critical_section() {
  const auto begin = Clock::now();
  while (Clock::now() - begin < kCriticalSection) {
  }
}

void compete(Exclusion& exclusion, Clock::time_point end, SharedSamples& waits) {
  for (;;) {
    const auto begin = Clock::now();
    if (begin >= end) return;
    exclusion.acquire();
    waits.add(Clock::now() - begin);
    be_in_critical_section();
    exclusion.release();
  }
}

Outcome contend(Exclusion& exclusion, unsigned processes, Clock::duration time) {
  const auto room = static_cast<std::size_t>(time / kCriticalSection);
  std::deque<SharedSamples> waits;
  for (unsigned i = 0; i < processes; ++i) waits.emplace_back(room);
  run_team(processes, [&](unsigned i) { compete(exclusion, Clock::now() + time, waits[i]); });

  std::vector<float> all;
  std::size_t fewest = waits.front().values().size();
  for (const SharedSamples& one : waits) {
    const auto values = one.values();
    all.insert(all.end(), values.begin(), values.end());
    fewest = std::min(fewest, values.size());
  }
  const auto total = static_cast<double>(all.size());
  return {total / std::chrono::duration<double>(time).count(), Samples(std::move(all)),
          static_cast<double>(fewest) * processes / total};
}

// The outcomes of each repetition, in which the two take turns.
struct Pairs {
  std::vector<Outcome> mortise;
  std::vector<Outcome> robust;

  Pairs(unsigned processes, Clock::duration time, unsigned repetitions) {
    RobustMutex mutex;
    MortiseLease lease(30s, {.timeout = 1min});
    for (unsigned i = 0; i < repetitions; ++i) {
      robust.push_back(contend(mutex, processes, time));
      mortise.push_back(contend(lease, processes, time));
    }
  }
};

template <class Value>
std::vector<double> of_each(const std::vector<Outcome>& outcomes, Value&& value) {
  std::vector<double> values;
  std::transform(outcomes.begin(), outcomes.end(), std::back_inserter(values), value);
  return values;
}

std::vector<double> ratios(const std::vector<double>& ours, const std::vector<double>& theirs) {
  std::vector<double> values;
  std::transform(ours.begin(), ours.end(), theirs.begin(), std::back_inserter(values), std::divides<>());
  return values;
}

std::vector<double> millions_per_second(const std::vector<Outcome>& outcomes) {
  return of_each(outcomes, [](const Outcome& outcome) { return outcome.per_second / 1e6; });
}

std::vector<double> wait(const std::vector<Outcome>& outcomes, double percent) {
  return of_each(outcomes, [percent](const Outcome& outcome) { return outcome.waits.percentile(percent); });
}

void report_throughput(unsigned processes, const Options& options, Report& report) {
  const Pairs pairs(processes, options.choose(1000ms, 500ms, 20ms), options.choose(5U, 3U, 1U));
  const std::string who = std::to_string(processes) + " processes, ";
  const auto ours = millions_per_second(pairs.mortise);
  const auto theirs = millions_per_second(pairs.robust);
  report.add({who + "mortise", "M/s", ours});
  report.add({who + "robust mutex", "M/s", theirs});
  report.add({who + "mortise / robust mutex, throughput", "x", ratios(ours, theirs),
              processes == kMostProcesses ? std::optional(at_least(1.0)) : std::nullopt});
  for (const auto& [percent, suffix] : {std::pair(50.0, "p50"), {99.0, "p99"}, {99.9, "p99.9"}}) {
    report.add({who + "mortise, wait, " + suffix, "µs", wait(pairs.mortise, percent)});
    report.add({who + "robust mutex, wait, " + suffix, "µs", wait(pairs.robust, percent)});
  }
}

void report_fairness(const Options& options, Report& report) {
  const Pairs pairs(kMostProcesses, options.choose<Clock::duration>(10s, 5s, 50ms),
                    options.choose(5U, 1U, 1U));
  const std::string who = std::to_string(kMostProcesses) + " processes for long, ";
  const auto longest = [](const Outcome& outcome) { return outcome.waits.largest() / 1000; };
  const auto share = [](const Outcome& outcome) { return outcome.smallest_share; };
  report.add({who + "mortise, longest wait", "ms", of_each(pairs.mortise, longest), at_most(100)});
  report.add({who + "robust mutex, longest wait", "ms", of_each(pairs.robust, longest)});
  report.add(
      {who + "mortise, smallest share of an equal one", "x", of_each(pairs.mortise, share), at_least(0.5)});
  report.add({who + "robust mutex, smallest share of an equal one", "x", of_each(pairs.robust, share)});
}

void measure(const Options& options, Report& report) {
  for (const unsigned processes : {2U, 4U, kMostProcesses}) report_throughput(processes, options, report);
  report_fairness(options, report);
}

}  // namespace

}  // namespace mortise::bench

int main(int argc, char** argv) {
  return mortise::bench::run("contention", argc, argv, mortise::bench::measure);
}
