// The command line of mortise_storm.
#pragma once

#include <chrono>
#include <optional>

#include "supervisor.hpp"

namespace mortise::storm {

struct Options {
  StormOrders storm;  // store_url empty: a new segment, for this storm only
  std::chrono::seconds length{20};
  unsigned kills = 0;  // the storm goes on until there were that many
};

// nullopt: the help was asked for, and printed. Throws std::invalid_argument.
std::optional<Options> parse_options(int argc, char** argv);

}  // namespace mortise::storm
