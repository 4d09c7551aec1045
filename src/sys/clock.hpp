// The one clock of mortise: CLOCK_MONOTONIC, which libstdc++'s steady_clock reads (C25).
#pragma once

#include <chrono>

namespace mortise::sys {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
using Micros = std::chrono::microseconds;

// now + wait, or the end of time where that would overflow.
// `wait` after `time`, or the end of time.
inline TimePoint later(TimePoint time, std::chrono::nanoseconds wait) noexcept {
  return wait >= TimePoint::max() - time ? TimePoint::max() : time + wait;
}

inline TimePoint deadline_after(std::chrono::nanoseconds wait) noexcept {
  return later(Clock::now(), wait);
}

}  // namespace mortise::sys
