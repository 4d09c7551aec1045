// How long a lease in PostgreSQL takes from its holder to a waiter.
#pragma once

#include <string>

#include "support/options.hpp"
#include "support/report.hpp"

namespace mortise::bench {

// Beside the same done by hand, and what it is made of.
void measure_sql_hand_off(const std::string& url, const Options& options, Report& figures);

}  // namespace mortise::bench
