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
  while (!stop.stop_requested() && !is_lost()) {
    const auto forced_ends = lease_.forced_ends();
    sleep(stop, renew() ? ttl / 3 : std::clamp(ttl / 30, kSoonest, kLatest), forced_ends);
  }
}

void Renewal::sleep(const std::stop_token& stop, std::chrono::milliseconds pause,
                    std::optional<std::uint64_t> forced_ends) {
  constexpr std::chrono::milliseconds kBetweenQuestions(100);
  std::mutex mutex;
  std::condition_variable_any sleeper;
  std::unique_lock lock(mutex);
  const Clock::time_point end = Clock::now() + pause;
  const auto is_over = [&] { return Clock::now() >= end || lease_.forced_ends() != forced_ends; };
  while (!stop.stop_requested() && !is_over()) {
    const auto step = forced_ends ? std::min(end, Clock::now() + kBetweenQuestions) : end;
    sleeper.wait_until(lock, stop, step, [] { return false; });
  }
}

// True: the store has answered. The lease is counted from before it was asked.
bool Renewal::renew() {
  const Clock::time_point asked = Clock::now();
  try {
    if (lease_.extend()) {
      expiry_ = asked + lease_.ttl().milliseconds();
    } else {
      how_it_ended_ = lease_.how_it_ended();
      if (how_it_ended_.empty()) how_it_ended_ = "it expired, or somebody ended it";
      is_lost_ = true;
      lost_.raise();
    }
    return true;
  } catch (const mortise::StoreError&) {
    return false;
  }
}

}  // namespace with_lock
