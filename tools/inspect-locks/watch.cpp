#include "watch.hpp"

namespace inspect_locks {
namespace {

using std::chrono::milliseconds;

// Looks at one lease differ by less: they count whole milliseconds, and take a moment.
constexpr milliseconds kNoise(20);

bool is_dead(const mortise::LeaseInfo& lease) {
  return lease.holder && !lease.holder->alive;
}

bool is_same_lease(const mortise::LeaseInfo& a, const mortise::LeaseInfo& b) {
  return a.fencing_token == b.fencing_token;
}

}  // namespace

const char* name_of(Event::Kind kind) {
  switch (kind) {
    case Event::Kind::granted:
      return "granted";
    case Event::Kind::extended:
      return "extended";
    case Event::Kind::shortened:
      return "shortened";
    case Event::Kind::handed_over:
      return "handed over";
    case Event::Kind::released:
      return "released";
    case Event::Kind::expired:
      return "expired";
    case Event::Kind::holder_died:
      return "holder died";
  }
  return "";
}

std::vector<Event> KeyHistory::look(const std::optional<mortise::LeaseInfo>& now, Clock::time_point at) {
  std::vector<Event> events;
  const bool is_over = known_ && (!now || !is_same_lease(*known_, *now));
  if (is_over && !is_dead(*known_)) events.push_back({end_of_known(at), *known_});
  if (now) {
    const Clock::time_point expiry = at + now->remaining;
    if (known_ && !is_over) {
      compare(*now, expiry, events);
    } else {
      events.push_back({Event::Kind::granted, *now});
      if (is_dead(*now)) events.push_back({Event::Kind::holder_died, *now});
    }
    expiry_ = expiry;
  }
  known_ = now;
  return events;
}

Event::Kind KeyHistory::end_of_known(Clock::time_point at) const {
  return at + kNoise >= expiry_ ? Event::Kind::expired : Event::Kind::released;
}

void KeyHistory::compare(const mortise::LeaseInfo& now, Clock::time_point expiry,
                         std::vector<Event>& events) const {
  if (expiry > expiry_ + kNoise) events.push_back({Event::Kind::extended, now});
  if (expiry < expiry_ - kNoise) events.push_back({Event::Kind::shortened, now});
  if (known_->holder && !now.holder) events.push_back({Event::Kind::handed_over, now});
  if (is_dead(now) && !is_dead(*known_)) events.push_back({Event::Kind::holder_died, now});
}

}  // namespace inspect_locks
