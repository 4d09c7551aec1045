// The leases of a segment, read from a mapping without write access.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mortise/types.hpp"
#include "segment/segment.hpp"
#include "table/lease.hpp"
#include "table/tally.hpp"

namespace mortise::table {

// What was counted of a key, or of all, at some moment.
struct Counts {
  std::uint64_t grants = 0;
  std::uint64_t busy = 0;
  std::uint64_t waits = 0;
  std::chrono::microseconds waited{0};
  std::uint64_t expired = 0;
  std::uint64_t orphaned = 0;
};

// One lease, consistent in itself, of a key that was in the table while it was read.
struct LeaseRecord {
  std::string key;
  Lease lease;
  std::uint64_t fence;
  sys::TimePoint granted_at;
  sys::TimePoint seen_at;
  unsigned sleepers;
  Counts counts;
};

// Of a segment that fits (LockTable::fits). Every lease that has not expired, those of dead processes
// included.
std::vector<LeaseRecord> snapshot(const segment::Segment& segment);
// How full the table is and what was counted in it, without a look at the keys.
struct Census {
  std::size_t slots = 0;
  std::size_t keys = 0;
  std::size_t sleepers = 0;
  unsigned fullest_stripe = 0;         // held slots of kSlotsPerStripe
  std::vector<std::size_t> leases_of;  // unexpired, by their binding; [0]: bound to no process
  Counts counts;                       // since the segment was made
  std::array<std::uint64_t, TableTally::kWaitBounds.size() + 1> waits_by_length{};
};
Census count(const segment::Segment& segment);

// The one of a key. It looks at one stripe only.
std::optional<LeaseRecord> snapshot(const segment::Segment& segment, const LockKey& key);
// What was counted of a key, held or not, since it has its slot; nullopt: it has none.
std::optional<Counts> counts(const segment::Segment& segment, const LockKey& key);

}  // namespace mortise::table
