// Operations and leases in words, for reports.
#pragma once

#include <string>

#include "history.hpp"
#include "lease_life.hpp"

namespace mortise::storm {

const char* name_of(Kind kind);
const char* name_of(Result result);
std::string describe(const Operation& call);
std::string describe(const LeaseLife& life);

}  // namespace mortise::storm
