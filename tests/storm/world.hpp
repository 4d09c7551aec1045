// What all processes of a storm see.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "findings.hpp"
#include "guarded_resource.hpp"
#include "keys.hpp"
#include "outbox.hpp"

namespace mortise::storm {

inline constexpr unsigned kMostSeats = 32;

// What is counted only, by the workers of one seat.
struct alignas(64) Tally {
  std::atomic<std::uint64_t> hammered_grants = 0;
  std::atomic<std::uint64_t> hammered_refusals = 0;
  std::atomic<std::uint64_t> hammered_stalls = 0;
  std::atomic<std::uint64_t> turned_away = 0;
};

struct World {
  Findings findings;
  std::array<GuardedResource, kAllKeys> resources;
  std::array<Outbox, kMostSeats> outboxes;
  std::array<Tally, kMostSeats> tallies;
  std::atomic<bool> journal_is_full = false;
};

}  // namespace mortise::storm
