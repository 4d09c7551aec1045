// The leases of a segment, read from a mapping without write access.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "segment/segment.hpp"
#include "table/lease.hpp"

namespace mortise::table {

// One lease, consistent in itself, of a key that was in the table while it was read.
struct LeaseRecord {
  std::string key;
  Lease lease;
  std::uint64_t fence;
  sys::TimePoint granted_at;
  sys::TimePoint seen_at;
  unsigned sleepers;
};

// Of a segment that fits (LockTable::fits). Every lease that has not expired, those of dead processes
// included.
std::vector<LeaseRecord> snapshot(const segment::Segment& segment);

}  // namespace mortise::table
