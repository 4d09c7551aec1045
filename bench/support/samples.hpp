// What was measured, one by one.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

namespace mortise::bench {

using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC: the same in every process

inline double in_micros(Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

// Sorted. Not empty when it is asked for anything.
class Samples {
 public:
  explicit Samples(std::vector<float> values);
  // The smallest value that at least this share of all do not exceed.
  [[nodiscard]] double percentile(double percent) const;
  [[nodiscard]] double largest() const { return values_.back(); }

 private:
  std::vector<float> values_;
};

// Durations that a forked process writes down for its parent.
class SharedSamples {
 public:
  explicit SharedSamples(std::size_t capacity);
  SharedSamples(const SharedSamples&) = delete;
  SharedSamples& operator=(const SharedSamples&) = delete;
  ~SharedSamples();

  // Throws when there is no room.
  void add(Clock::duration time);
  [[nodiscard]] std::span<const float> values() const;

 private:
  std::size_t capacity_;
  std::size_t bytes_;
  std::size_t* count_;  // in shared memory, the values behind it
  float* values_;
};

}  // namespace mortise::bench
