#include "tables.hpp"

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

std::string render_stats(const mortise::StoreStats& stats) {
  const auto percent = stats.fullest_stripe ? std::to_string(*stats.fullest_stripe) + "%" : "-";
  const std::vector<Row> rows = {{{"leases", std::to_string(stats.leases)}},
                                 {{"sleepers", number_text(stats.sleepers)}},
                                 {{"slots", number_text(stats.slots)}},
                                 {{"known keys", number_text(stats.known_keys)}},
                                 {{"fullest stripe", percent}},
                                 {{"process slots", number_text(stats.process_slots)}},
                                 {{"processes", number_text(stats.processes)}}};
  return render_grid(rows, false);
}

}  // namespace inspect_locks
