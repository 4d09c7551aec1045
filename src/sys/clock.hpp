// The one clock of mortise: CLOCK_MONOTONIC, which libstdc++'s steady_clock reads (C25).
#pragma once

#include <chrono>

namespace mortise::sys {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
using Micros = std::chrono::microseconds;

// now + wait, or the end of time where that would overflow.
inline TimePoint deadline_after(std::chrono::nanoseconds wait) noexcept {
  const TimePoint now = Clock::now();
  return wait >= TimePoint::max() - now ? TimePoint::max() : now + wait;
}

}  // namespace mortise::sys
