// Durations in tests: how they are measured, compared and printed.
#pragma once

#include <gmock/gmock.h>

#include <chrono>

namespace mortise::test {

// What a busy machine may add to something that usually takes far less than a tenth of it.
inline constexpr std::chrono::milliseconds kSlack{500};

class Stopwatch {
 public:
  [[nodiscard]] std::chrono::nanoseconds elapsed() const { return std::chrono::steady_clock::now() - start_; }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// EXPECT_THAT(watch.elapsed(), IsWithin(300ms, 300ms + kSlack)), both ends included.
MATCHER_P2(IsWithin, low, high, "") {
  *result_listener << "which is " << std::chrono::duration<double, std::milli>(arg).count() << " ms";
  return low <= arg && arg <= high;
}

}  // namespace mortise::test
