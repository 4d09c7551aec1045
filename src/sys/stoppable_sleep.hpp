// Sleeping, where nothing but a stop request is to wake the sleeper.
#pragma once

#include <condition_variable>
#include <mutex>
#include <stop_token>

#include "sys/clock.hpp"

namespace mortise::sys {

// Until `until`, or until stop is requested: then false.
inline bool sleep_unless_stopped(TimePoint until, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never_notified;
  std::unique_lock guard(mutex);
  never_notified.wait_until(guard, stop, until, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace mortise::sys
