// The repair of a table that nobody uses: what the repair of a stripe (recovery.hpp) cannot do while others
// go on.
#pragma once

#include <string>
#include <vector>

#include "segment/exclusion.hpp"
#include "table/check.hpp"

namespace mortise::table {

struct Overhaul {
  std::vector<std::string> done;  // sentences, without their full stops
  std::vector<Flaw> left;
};

// Mends what check() finds, and ends the leases of processes: they are all dead. Sound leases that are bound
// to none stay. No number is lowered that may have been granted. May be cut short anywhere and begun again.
Overhaul overhaul(segment::Segment& segment, const segment::Exclusion& in_force);

}  // namespace mortise::table
