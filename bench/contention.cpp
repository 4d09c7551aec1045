// How often do several processes get keys that they all want all the time, how long do they wait, and is it
// fair?
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "peers/peer.hpp"
#include "peers/robust_mutex.hpp"
#include "support/exclusion.hpp"
#include "support/keys.hpp"
#include "support/options.hpp"
#include "support/report.hpp"
#include "support/samples.hpp"
#include "support/team.hpp"

namespace mortise::bench {

namespace {

using namespace std::chrono_literals;

constexpr auto kCriticalSection = 200ns;
constexpr unsigned kMostProcesses = 8;

// What is competed for: one, or several of the same kind, of which everybody takes any.
using Field = std::vector<std::unique_ptr<Exclusion>>;

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

void compete(const Field& field, std::uint64_t seed, Clock::duration time, SharedSamples& waits) {
  for (const auto& exclusion : field) exclusion->enter();
  RandomNumbers choose(field.size(), seed);
  for (const auto end = Clock::now() + time;;) {
    Exclusion& exclusion = *field[choose()];
    const auto begin = Clock::now();
    if (begin >= end) return;
    exclusion.acquire();
    waits.add(Clock::now() - begin);
    be_in_critical_section();
    exclusion.release();
  }
}

Outcome contend(const Field& field, unsigned processes, Clock::duration time) {
  const auto room = static_cast<std::size_t>(time / kCriticalSection);
  std::deque<SharedSamples> waits;
  for (unsigned i = 0; i < processes; ++i) waits.emplace_back(room);
  run_team(processes, [&](unsigned i) { compete(field, i + 1, time, waits[i]); });

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

Field robust_mutexes(unsigned count) {
  Field field;
  for (unsigned i = 0; i < count; ++i) field.push_back(std::make_unique<RobustMutex>());
  return field;
}

Field mortise_leases(unsigned count) {
  Field field;
  const auto segment = std::make_shared<Segment>();
  for (unsigned i = 0; i < count; ++i) {
    field.push_back(std::make_unique<MortiseLease>(segment, "invoice:" + std::to_string(i), 30s,
                                                   AcquireOptions{.timeout = 1min}));
  }
  return field;
}

// The outcomes of each repetition, in which the two take turns.
struct Pairs {
  std::vector<Outcome> mortise;
  std::vector<Outcome> robust;

  Pairs(unsigned processes, unsigned keys, Clock::duration time, unsigned repetitions) {
    const Field mutexes = robust_mutexes(keys);
    const Field leases = mortise_leases(keys);
    for (unsigned i = 0; i < repetitions; ++i) {
      robust.push_back(contend(mutexes, processes, time));
      mortise.push_back(contend(leases, processes, time));
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

struct Percentile {
  double percent;
  const char* suffix;
};
constexpr Percentile kTail{99.9, "p99.9"};
constexpr Percentile kPercentiles[] = {{50, "p50"}, {90, "p90"}, {99, "p99"}, kTail, {99.99, "p99.99"}};

void report_throughput(unsigned processes, unsigned keys, const Options& options, Report& report) {
  const Pairs pairs(processes, keys, options.choose(800ms, 200ms, 20ms), options.choose(5U, 5U, 1U));
  const std::string who =
      std::to_string(processes) + " processes, " + (keys == 1 ? "1 key, " : std::to_string(keys) + " keys, ");
  const bool judged = keys == 1 && processes > 2;
  const auto ours = millions_per_second(pairs.mortise);
  const auto theirs = millions_per_second(pairs.robust);
  report.add({who + "mortise", "M/s", ours});
  report.add({who + "robust mutex", "M/s", theirs});
  report.add({who + "throughput, mortise / robust mutex", "x", ratios(ours, theirs),
              judged ? std::optional(at_least(1.0, 1.2)) : std::nullopt});
  for (const auto& [percent, suffix] : kPercentiles) {
    report.add({who + "wait, mortise, " + suffix, "µs", wait(pairs.mortise, percent)});
    report.add({who + "wait, robust mutex, " + suffix, "µs", wait(pairs.robust, percent)});
  }
  report.add({who + "wait, " + kTail.suffix + ", mortise / robust mutex", "x",
              ratios(wait(pairs.mortise, kTail.percent), wait(pairs.robust, kTail.percent)),
              judged ? std::optional(at_most(1.0)) : std::nullopt});
}

void report_fairness(const Options& options, Report& report) {
  const Pairs pairs(kMostProcesses, 1, options.choose<Clock::duration>(5s, 2s, 50ms),
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

// Those that are opened once and lock by themselves. They take turns, and the two above with them.
class Peers {
 public:
  Peers(const Options& options, Report& report) {
    add("mortise", mortise_leases(1));
    for (const Peer& peer : peers()) {
      if (!takes_part(peer.name)) continue;
      try {
        Field field;
        field.push_back(peer.make());
        add(peer.name, std::move(field));
      } catch (const std::exception& error) {
        report.miss(peer.name + ": " + error.what());
      }
    }
    for (unsigned i = 0; i < options.choose(5U, 2U, 1U); ++i) {
      for (Entry& entry : entries_)
        entry.outcomes.push_back(contend(entry.field, kMostProcesses, options.choose(400ms, 200ms, 20ms)));
    }
  }

  void tell(Report& report) const {
    const std::string who = std::to_string(kMostProcesses) + " processes with peers, ";
    for (const Entry& entry : entries_) {
      const auto share = [](const Outcome& outcome) { return outcome.smallest_share; };
      report.add({who + entry.name, "M/s", millions_per_second(entry.outcomes)});
      report.add({who + "wait, " + entry.name + ", p99.9", "µs", wait(entry.outcomes, kTail.percent)});
      report.add(
          {who + entry.name + ", smallest share of an equal one", "x", of_each(entry.outcomes, share)});
    }
  }

 private:
  struct Entry {
    std::string name;
    Field field;
    std::vector<Outcome> outcomes{};
  };
  // Not those that poll without a pause, and of a kind that is opened or opened each time the faster one.
  static bool takes_part(const std::string& name) {
    return name.find("each time") == std::string::npos && name.find("row") == std::string::npos &&
           name.find("Boost file_lock") == std::string::npos;
  }
  void add(std::string name, Field field) { entries_.push_back({std::move(name), std::move(field)}); }
  std::vector<Entry> entries_;
};

void measure(const Options& options, Report& report) {
  for (const unsigned keys : {1U, 16U}) {
    for (const unsigned processes : {2U, 4U, kMostProcesses})
      report_throughput(processes, keys, options, report);
  }
  report_fairness(options, report);
  Peers(options, report).tell(report);
  for (const std::string& name : missing_peers()) report.miss(name);
}

}  // namespace

}  // namespace mortise::bench

int main(int argc, char** argv) {
  return mortise::bench::run("contention", argc, argv, mortise::bench::measure);
}
