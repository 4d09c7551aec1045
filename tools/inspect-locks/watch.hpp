// What happens to a key, told from looks at it.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "mortise/inspect.hpp"

namespace inspect_locks {

struct Event {
  enum class Kind { granted, extended, shortened, handed_over, released, expired, holder_died } kind;
  mortise::LeaseInfo lease;  // after it; before it where it ended
};

const char* name_of(Event::Kind kind);

// What must have happened between two looks. Of a lease that came and went in between nothing is known; nor
// whether its holder released a lease, or an operator did.
class KeyHistory {
 public:
  using Clock = std::chrono::steady_clock;
  std::vector<Event> look(const std::optional<mortise::LeaseInfo>& now, Clock::time_point at);

 private:
  [[nodiscard]] Event::Kind end_of_known(Clock::time_point at) const;
  void compare(const mortise::LeaseInfo& now, Clock::time_point expiry, std::vector<Event>& events) const;

  std::optional<mortise::LeaseInfo> known_;
  Clock::time_point expiry_;
};

}  // namespace inspect_locks
