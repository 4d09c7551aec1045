#include "figures.hpp"

#include <iomanip>
#include <numeric>
#include <ostream>
#include <vector>

#include "describe.hpp"

namespace mortise::storm {

namespace {

double milliseconds(Time time, std::uint64_t count) {
  return count == 0 ? 0
                    : std::chrono::duration<double, std::milli>(time).count() / static_cast<double>(count);
}

std::uint64_t sum(const World& world, std::atomic<std::uint64_t> Tally::*counter) {
  std::uint64_t total = 0;
  for (const Tally& tally : world.tallies) total += (tally.*counter).load();
  return total;
}

}  // namespace

void Figures::add(const History& history) {
  std::vector<bool> seen(history.processes.size());
  for (const Operation& call : history.operations) {
    const auto result = call.is_open() ? kResults : static_cast<std::size_t>(call.result);
    ++calls_[static_cast<std::size_t>(call.kind)][result];
    if (call.timeout.count() > 0) ++(call.is_grant() ? waits_granted_ : waits_in_vain_);
    if (seen[call.process]) continue;
    seen[call.process] = true;
    first_calls_ += call.invoked - history.processes[call.process].born;
    ++called_;
  }
  for (const ProcessLife& process : history.processes) {
    if (process.condemned == kNever || process.dead == kNever) continue;
    deaths_ += process.dead - process.condemned;
    ++killed_;
  }
}

void Figures::print(std::ostream& out, const StormFigures& storm, const World& world) const {
  const auto kills_in_a_call =
      std::accumulate(storm.kills_in_a_call.begin(), storm.kills_in_a_call.end(), 0U);
  out << std::fixed << std::setprecision(2) << "storm: " << std::chrono::duration<double>(storm.raged).count()
      << " s, " << storm.starts << " processes started, " << storm.kills << " killed, " << storm.stops
      << " stops\n"
      << "killed: " << kills_in_a_call << " in the middle of a call (";
  for (std::size_t i = 0; i < kKinds; ++i) {
    if (storm.kills_in_a_call[i] > 0)
      out << name_of(static_cast<Kind>(i)) << ' ' << storm.kills_in_a_call[i] << ", ";
  }
  out << "others between calls), " << storm.kills_of_stopped << " while stopped\n"
      << "on average: dead " << milliseconds(deaths_, killed_) << " ms after the kill, first call "
      << milliseconds(first_calls_, called_) << " ms after the start; longest tick "
      << milliseconds(storm.longest_tick, 1) << " ms\n"
      << "written down:\n";
  for (std::size_t i = 0; i < kKinds; ++i) {
    const ByResult& calls = calls_[i];
    out << "  " << std::left << std::setw(10) << name_of(static_cast<Kind>(i)) << std::right << std::setw(9)
        << std::accumulate(calls.begin(), calls.end(), std::uint64_t{0}) << " calls:";
    for (std::size_t result = 0; result < kResults; ++result) {
      if (calls[result] > 0)
        out << ' ' << calls[result] << ' ' << name_of(static_cast<Result>(result)) << ',';
    }
    out << ' ' << calls[kResults] << " cut short\n";
  }
  out << "  of them " << waits_granted_ << " waits that were granted, " << waits_in_vain_ << " in vain\n"
      << "hammered: " << sum(world, &Tally::hammered_grants) << " grants, "
      << sum(world, &Tally::hammered_refusals) << " refusals, " << sum(world, &Tally::hammered_stalls)
      << " stalled\n"
      << "guarded resources: " << sum(world, &Tally::turned_away)
      << " visitors whose lease was over turned away\n";
}

}  // namespace mortise::storm
