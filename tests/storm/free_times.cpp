#include "free_times.hpp"

#include <algorithm>

namespace mortise::storm {

FreeTimes::FreeTimes(std::vector<Interval> perhaps_held) {
  std::sort(perhaps_held.begin(), perhaps_held.end(),
            [](const Interval& a, const Interval& b) { return a.from < b.from; });
  for (const Interval& held : perhaps_held) {
    if (held_.empty() || held.from > held_.back().until) {
      held_.push_back(held);
    } else {
      held_.back().until = std::max(held_.back().until, held.until);
    }
  }
}

Interval FreeTimes::longest_within(Interval during) const {
  Interval longest{during.from, during.from};
  const auto consider = [&](Time from, Time until) {
    if (until - from > longest.until - longest.from) longest = {from, until};
  };
  auto held = std::lower_bound(held_.begin(), held_.end(), during.from,
                               [](const Interval& interval, Time from) { return interval.until < from; });
  Time free_from = during.from;
  for (; held != held_.end() && held->from < during.until; ++held) {
    consider(free_from, held->from);
    free_from = held->until;
  }
  consider(free_from, during.until);
  return longest;
}

}  // namespace mortise::storm
