// What a history says for certain of one lease.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "history.hpp"

namespace mortise::storm {

// A call does its work at some moment between its invocation and its return, which nobody knows. So there is
// a time at which the lease was in force whatever that moment was, and one from which on it was over.
struct LeaseLife {
  const Operation* grant;
  Time certain_until;  // in force at least from grant->returned to here, if that is any time at all
  Time over_by;        // over from here on

  [[nodiscard]] bool was_certain() const { return grant->returned < certain_until; }
};

// Told of every call on the lease whose answer cannot be true.
struct FalseAnswers {
  std::function<void(const LeaseLife&, const Operation&)> lost;   // "no", while the lease was in force
  std::function<void(const LeaseLife&, const Operation&)> ghost;  // "yes", when the lease was over
};

// How far the library may be behind the time.
struct Lateness {
  Time expiry;   // after the time to live is over
  Time renewal;  // of a lease that is kept alive by a process that runs, after a third of the time to live
};

// `operations`: the grant, and then every other call on that lease in the order of the invocations.
LeaseLife follow_lease(std::span<const Operation* const> operations, std::span<const ProcessLife> processes,
                       Lateness late, const FalseAnswers& report);

}  // namespace mortise::storm
