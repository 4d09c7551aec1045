// Judges a history by what the library promises, and only by what is certain: a verdict is never a matter of
// timing. What each rule says stands beside its name; the clauses are those of the semantics.
#pragma once

#include <string>
#include <vector>

#include "history.hpp"

namespace mortise::storm {

enum class Rule {
  two_holders,    // two leases of one key were in force at once (C01, C02)
  fence_order,    // a grant's fencing number is not above those of all earlier grants of the key (C03)
  foreign_lease,  // somebody was told that he holds, or released, a lease that was over (C05, C06, C07)
  lost_lease,     // somebody was told that a lease is over while it was in force (C01)
  free_refused,   // a key that nobody could hold was refused (C01, C05)
  hole,           // a key that nobody could hold stayed so, before the eyes of a waiter (C14, C15)
};
const char* name_of(Rule rule);

struct Violation {
  Rule rule;
  std::string text;
};

struct Bounds {
  Time late_expiry = std::chrono::milliseconds(5);  // C04
  // How much later than usual a process that runs may get to run: ten times what a busy machine needs.
  Time slack = std::chrono::milliseconds(500);
};

// Each rule is reported once a key at most, but for foreign and lost leases, which are reported one by one.
std::vector<Violation> check(const History& history, const Bounds& bounds = {});

}  // namespace mortise::storm
