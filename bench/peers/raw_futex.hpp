// The floor of a hand-off: one word, one sleep, one wake. Always wakes, whether anybody sleeps or not.
// With a time-out, whoever sleeps looks again by itself after that: a lease's waiter must, for the lease ends
// by itself.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "support/exclusion.hpp"
#include "support/team.hpp"

namespace mortise::bench {

class RawFutex : public Exclusion {
 public:
  explicit RawFutex(std::optional<std::chrono::nanoseconds> time_out = std::nullopt) : time_out_(time_out) {}
  void acquire() override;
  void release() override;

 private:
  std::optional<std::chrono::nanoseconds> time_out_;
  Shared<std::atomic<std::uint32_t>> taken_{0U};
};

}  // namespace mortise::bench
