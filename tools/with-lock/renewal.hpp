// Keeping the lease alive.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "event.hpp"
#include "lease.hpp"

namespace with_lock {

using Clock = std::chrono::steady_clock;

// A thread that extends the lease, at once and at every third of its ttl, as long as it lives; a store that
// fails is asked again and again. It is a thread of its own, so that a store that does not answer keeps
// nobody from acting in time.
class Renewal {
 public:
  // The lease is known to last until `expiry`.
  Renewal(const Lease& lease, Clock::time_point expiry);

  // Until then nobody else has the key, as far as is known.
  [[nodiscard]] Clock::time_point expiry() const { return expiry_.load(); }
  // Has the store said that the lease is over?
  [[nodiscard]] bool is_lost() const { return is_lost_.load(); }
  // Becomes readable when it has.
  [[nodiscard]] int descriptor() const { return lost_.descriptor(); }

  // Ends the thread.
  void stop();

 private:
  void run(const std::stop_token& stop);
  [[nodiscard]] bool renew();

  const Lease& lease_;
  std::atomic<Clock::time_point> expiry_;
  std::atomic<bool> is_lost_ = false;
  Event lost_;
  std::jthread thread_;
};

}  // namespace with_lock
