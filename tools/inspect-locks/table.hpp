// Leases as a table for people.
#pragma once

#include <span>
#include <string>

#include "mortise/inspect.hpp"

namespace inspect_locks {

// A line of headings and one line for each lease. Columns are at least two spaces apart, and no cell has two
// spaces in a row. Nothing is ever cut.
std::string render_table(std::span<const mortise::LeaseInfo> leases);

}  // namespace inspect_locks
