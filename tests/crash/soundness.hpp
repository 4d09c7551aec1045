// The laws of the table, checked on images of it.
#pragma once

#include <sys/types.h>

#include <vector>

#include "crash/findings.hpp"
#include "crash/table_image.hpp"
#include "mortise/types.hpp"
#include "sys/clock.hpp"

namespace mortise::crash {

// What must hold at every moment, also in the middle of an operation: no half-written key is known, no key is
// known twice, each known key has its tag, and only under the stripe's mutex is anything unfinished.
Findings unsound(const TableImage& table);

// Somebody whose leases may appear, change and end.
struct Actor {
  OwnerToken token;
  Ttl ttl;
  pid_t pid;
};

// What the operations of `actors` may have made of a table: each lease is the old or the new one, fences have
// only risen, and leases of anybody else who lives are untouched. `live` are the tokens of processes that
// live; a bound lease of any other token has no holder.
struct Law {
  std::vector<Actor> actors;
  std::vector<OwnerToken> live;
  sys::TimePoint since;  // the actors began
};
Findings unlawful_changes(const TableImage& before, const TableImage& after, const Law& law);

}  // namespace mortise::crash
