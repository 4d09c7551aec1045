// The one clock of mortise: CLOCK_MONOTONIC, which libstdc++'s steady_clock reads (C25).
#pragma once

#include <chrono>
#include <ctime>

namespace mortise::sys {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
using Micros = std::chrono::microseconds;

// The time of the kernel's last tick. Costs a fraction of an exact look.
inline TimePoint coarse_now() noexcept {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return TimePoint(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
}

// Now lies between them, and they are kSoon apart at most.
struct Moment {
  TimePoint earliest;
  TimePoint latest;
};

// Where this thread has looked at the clock within the last microseconds, it costs a third of an exact look.
//
// CLOCK_MONOTONIC_COARSE and a tick after it are no such moment. On a busy virtual machine it was seen to lag
// by 17 ms, at ticks of 4 ms.
inline constexpr std::chrono::microseconds kSoon{100};
Moment about_now() noexcept;

// For expiries, which must not come early and may be somewhat late.
inline TimePoint soon() noexcept {
  return about_now().latest;
}

// Has the time come? Asks the exact clock only when the coarse one cannot tell. That one lags by a tick of
// the kernel, or somewhat more where a virtual machine was robbed of its processor, but not by a second.
inline bool has_come(TimePoint time) noexcept {
  return time - coarse_now() <= std::chrono::seconds(1) && Clock::now() >= time;
}

// `wait` after `time`, or the end of time.
inline TimePoint later(TimePoint time, std::chrono::nanoseconds wait) noexcept {
  return wait >= TimePoint::max() - time ? TimePoint::max() : time + wait;
}

inline TimePoint deadline_after(std::chrono::nanoseconds wait) noexcept {
  return later(Clock::now(), wait);
}

}  // namespace mortise::sys
