// Waiting for what comes by itself, with a limit.
#pragma once

#include <chrono>
#include <thread>

namespace mortise::test {

// Looks every millisecond whether `condition` holds. False: not within `limit`.
template <class Condition>
bool eventually(Condition condition, std::chrono::nanoseconds limit = std::chrono::seconds(10)) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace mortise::test
