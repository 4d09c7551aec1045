// Leases, processes and numbers as tables for people.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "cells.hpp"
#include "grid.hpp"
#include "mortise/inspect.hpp"

namespace inspect_locks {

// A line of headings and one line for each lease.
std::vector<Row> lease_rows(std::span<const mortise::LeaseInfo> leases, Holders holders);
std::string render_leases(std::span<const mortise::LeaseInfo> leases, Holders holders, bool colours);
std::string render_processes(std::span<const mortise::AttachedProcess> processes, bool colours);
// "-": the store does not know.
std::string render_counters(const std::optional<mortise::Counters>& counters);
std::string render_stats(const mortise::StoreStats& stats);

}  // namespace inspect_locks
