// When nobody can have held a key.
#pragma once

#include <vector>

#include "history.hpp"

namespace mortise::storm {

class FreeTimes {
 public:
  // What lies outside all of `perhaps_held` is free.
  explicit FreeTimes(std::vector<Interval> perhaps_held);

  // The longest part of `during` in which the key was free; empty (from == until) when there is none.
  [[nodiscard]] Interval longest_within(Interval during) const;

 private:
  std::vector<Interval> held_;  // in order, apart from each other
};

}  // namespace mortise::storm
