// What a lock guards, and at the same time the witness that it does: it knows nothing of leases but the
// fencing numbers of those who come.
#pragma once

#include <atomic>
#include <cstdint>

#include "history.hpp"

namespace mortise::storm {

class GuardedResource {
 public:
  enum class Visit {
    admitted,
    turned_away,  // by the rule of fencing: somebody came later, which the visitor's expiry explains
    impossible,   // somebody came with a higher number, or the same one, although the visitor's lease is in
                  // force
  };

  // The first visit under a lease that is in force until `certain_until` at least.
  Visit enter(std::uint64_t fence, Time certain_until) noexcept {
    std::uint64_t highest = highest_.load();
    while (highest < fence && !highest_.compare_exchange_weak(highest, fence)) {
    }
    if (highest < fence) return Visit::admitted;
    return highest == fence ? Visit::impossible : unless_over(certain_until);
  }

  // A later look under the same lease, or the end of the visit.
  [[nodiscard]] Visit look(std::uint64_t fence, Time certain_until) const noexcept {
    return highest_.load() == fence ? Visit::admitted : unless_over(certain_until);
  }

  [[nodiscard]] std::uint64_t highest() const noexcept { return highest_.load(); }

 private:
  // The clock is read after the number: what was in force now was so when the other came.
  static Visit unless_over(Time certain_until) noexcept {
    return now() < certain_until ? Visit::impossible : Visit::turned_away;
  }

  std::atomic<std::uint64_t> highest_ = 0;
};

}  // namespace mortise::storm
