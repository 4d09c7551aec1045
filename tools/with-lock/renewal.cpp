#include "renewal.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "mortise/errors.hpp"

namespace with_lock {

Renewal::Renewal(const Lease& lease, Clock::time_point expiry)
    : lease_(lease), expiry_(expiry), thread_([this](const std::stop_token& stop) { run(stop); }) {}

void Renewal::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void Renewal::run(const std::stop_token& stop) {
  const auto ttl = lease_.ttl().milliseconds();
  constexpr std::chrono::milliseconds kSoonest(10);
  constexpr std::chrono::milliseconds kLatest(1000);
  std::mutex mutex;
  std::condition_variable_any sleeper;
  while (!stop.stop_requested() && !is_lost()) {
    const auto pause = renew() ? ttl / 3 : std::clamp(ttl / 30, kSoonest, kLatest);
    std::unique_lock lock(mutex);
    sleeper.wait_for(lock, stop, pause, [] { return false; });
  }
}

// True: the store has answered. The lease is counted from before it was asked.
bool Renewal::renew() {
  const Clock::time_point asked = Clock::now();
  try {
    if (lease_.extend()) {
      expiry_ = asked + lease_.ttl().milliseconds();
    } else {
      is_lost_ = true;
      lost_.raise();
    }
    return true;
  } catch (const mortise::StoreError&) {
    return false;
  }
}

}  // namespace with_lock
