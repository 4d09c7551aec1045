// Keeping the lease alive.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>

#include "event.hpp"
#include "lease.hpp"

namespace with_lock {

using Clock = std::chrono::steady_clock;

// A thread that extends the lease, at once and at every third of its ttl, as long as it lives; at once, too,
// when the store says that an operator has ended a lease by force. A store that fails is asked again and
// again. It is a thread of its own, so that a store that does not answer keeps nobody from acting in time.
class Renewal {
 public:
  // The lease is known to last until `expiry`.
  Renewal(const Lease& lease, Clock::time_point expiry);

  // Until then nobody else has the key, as far as is known.
  [[nodiscard]] Clock::time_point expiry() const { return expiry_.load(); }
  // Has the store said that the lease is over?
  [[nodiscard]] bool is_lost() const { return is_lost_.load(); }
  // Then: how.
  [[nodiscard]] const std::string& how_it_ended() const { return how_it_ended_; }
  // Becomes readable when it has.
  [[nodiscard]] int descriptor() const { return lost_.descriptor(); }

  // Ends the thread.
  void stop();

 private:
  void run(const std::stop_token& stop);
  [[nodiscard]] bool renew();
  // Until there are more forced ends than that.
  void sleep(const std::stop_token& stop, std::chrono::milliseconds pause,
             std::optional<std::uint64_t> forced_ends);

  const Lease& lease_;
  std::atomic<Clock::time_point> expiry_;
  std::string how_it_ended_;  // written before is_lost_
  std::atomic<bool> is_lost_ = false;
  Event lost_;
  std::jthread thread_;
};

}  // namespace with_lock
