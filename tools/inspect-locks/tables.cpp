#include "tables.hpp"

#include <chrono>
#include <utility>

#include "process_state.hpp"
#include "text/key_text.hpp"

namespace inspect_locks {
namespace {

Style style_of(const mortise::LeaseInfo& lease) {
  if (lease.holder && !lease.holder->alive) return Style::alarming;
  return lease.sleepers.value_or(0) > 0 ? Style::notable : Style::plain;
}

Style style_of(ProcessState state) {
  if (state == ProcessState::running) return Style::plain;
  return state == ProcessState::dead ? Style::alarming : Style::notable;
}

void add_counters(std::vector<Row>& rows, const std::optional<mortise::Counters>& counters) {
  const auto add = [&](const char* name, auto mortise::Counters::*counter) {
    rows.push_back({{name, counters ? std::to_string((*counters).*counter) : "-"}});
  };
  add("grants", &mortise::Counters::grants);
  add("busy", &mortise::Counters::busy);
  add("expired", &mortise::Counters::expired);
  add("of dead processes", &mortise::Counters::orphaned);
  add("waits", &mortise::Counters::waits);
  const auto waited = [&] { return std::chrono::floor<std::chrono::milliseconds>(counters->waited); };
  rows.push_back({{"waited", counters ? duration_text(waited()) : "-"}});
}

}  // namespace

std::vector<Row> lease_rows(std::span<const mortise::LeaseInfo> leases, Holders holders) {
  std::vector<Row> rows = {{lease_headings(), Style::heading}};
  rows.reserve(leases.size() + 1);
  for (const mortise::LeaseInfo& lease : leases)
    rows.push_back({lease_cells(lease, holders), style_of(lease)});
  return rows;
}

std::string render_leases(std::span<const mortise::LeaseInfo> leases, Holders holders, bool colours) {
  return render_grid(lease_rows(leases, holders), colours);
}

std::string render_processes(std::span<const mortise::AttachedProcess> processes, bool colours) {
  std::vector<Row> rows = {{{"PID", "COMMAND", "STATE", "LEASES"}, Style::heading}};
  for (const auto& [process, leases] : processes) {
    const ProcessState state = state_of(process);
    rows.push_back(
        {{std::to_string(process.pid), text::escape(process.command), name_of(state), std::to_string(leases)},
         style_of(state)});
  }
  return render_grid(rows, colours);
}

std::string render_counters(const std::optional<mortise::Counters>& counters) {
  std::vector<Row> rows;
  add_counters(rows, counters);
  return render_grid(rows, false);
}

std::string render_stats(const mortise::StoreStats& stats) {
  const auto percent = stats.fullest_stripe ? std::to_string(*stats.fullest_stripe) + "%" : "-";
  std::vector<Row> rows = {{{"leases", std::to_string(stats.leases)}},
                           {{"sleepers", number_text(stats.sleepers)}},
                           {{"slots", number_text(stats.slots)}},
                           {{"known keys", number_text(stats.known_keys)}},
                           {{"fullest stripe", percent}},
                           {{"process slots", number_text(stats.process_slots)}},
                           {{"processes", number_text(stats.processes)}}};
  add_counters(rows, stats.counters);
  for (const auto& [bound, count] : stats.waits_by_length) {
    const std::string name = bound ? "waits up to " + duration_text(*bound) : "longer waits";
    rows.push_back({{name, std::to_string(count)}});
  }
  return render_grid(rows, false);
}

}  // namespace inspect_locks
