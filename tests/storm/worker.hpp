// One process of the storm: it does whatever one may do with locks, at random, until it is killed.
#pragma once

#include <cstdint>
#include <string>

#include "journal.hpp"
#include "world.hpp"

namespace mortise::storm {

// No lease that outlives its process lasts longer.
inline constexpr Millis kLongestDetached{500};

struct WorkerOrders {
  unsigned seat;
  unsigned seats;
  ProcessNumber process;
  std::uint64_t seed;
  std::string store_url;
};

[[noreturn]] void work(const WorkerOrders& orders, World& world, Journal& journal);

}  // namespace mortise::storm
