// Pausing before another attempt.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

#include "sys/clock.hpp"
#include "sys/entropy.hpp"

namespace mortise::sql {

// Ever longer pauses between attempts, each of a random part of its length.
class Backoff {
 public:
  Backoff(std::chrono::microseconds shortest, std::chrono::microseconds longest)
      : next_(shortest), longest_(longest) {}

  void pause(sys::TimePoint deadline) {
    const auto half = static_cast<std::uint64_t>(next_.count() / 2);
    const std::chrono::microseconds random(sys::thread_random() % (half + 1));
    std::this_thread::sleep_until(std::min(deadline, sys::Clock::now() + next_ / 2 + random));
    next_ = std::min(longest_, 2 * next_);
  }

 private:
  std::chrono::microseconds next_;
  std::chrono::microseconds longest_;
};

}  // namespace mortise::sql
