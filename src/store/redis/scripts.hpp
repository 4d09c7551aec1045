// What the server runs: each operation is one script, so that it is one step and one round trip.
#pragma once

#include <string_view>

namespace mortise::store::redis {

struct Script {
  std::string_view text;
  std::string_view name;  // its SHA-1
};

// KEYS of all: lease, notes, bell (see key_names.hpp).

// ARGV: owner, ttl, and for how long the caller will wait if it is refused. All times are in milliseconds.
// Answers the fencing number; or, when somebody else holds the key, {the time left, or -1 if that never
// ends}. Who holds the key already with this token gets the same grant again (C23).
extern const Script kAcquire;

// ARGV: owner, and "1" if this may have been done already. Answers 1, or 0: `owner` does not hold the key.
extern const Script kRelease;

// ARGV: owner, ttl. Answers 1, or 0: `owner` does not hold the key.
extern const Script kExtend;

}  // namespace mortise::store::redis
