#include "history.hpp"

#include <algorithm>

namespace mortise::storm {

bool ProcessLife::may_have_been_stopped(Interval during) const {
  const auto next = std::lower_bound(stops.begin(), stops.end(), during.from,
                                     [](const Interval& stop, Time from) { return stop.until < from; });
  return next != stops.end() && next->from <= during.until;
}

}  // namespace mortise::storm
