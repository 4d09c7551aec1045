// What is shown of a lease and of a process, as text for people.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "mortise/inspect.hpp"

namespace inspect_locks {

// Of a store: its leases without a holder were handed over, or it knows no processes.
enum class Holders { known, unknown };

// The two largest units, rounded down: 850ms, 29.8s, 3m12s, 2h05m, 364d23h.
std::string duration_text(std::chrono::milliseconds duration);

const std::vector<std::string>& lease_headings();
std::vector<std::string> lease_cells(const mortise::LeaseInfo& lease, Holders holders);

// A number; "-" when the store does not know.
template <typename Number>
std::string number_text(const std::optional<Number>& number) {
  return number ? std::to_string(*number) : "-";
}

}  // namespace inspect_locks
