// What the keys are called on the server.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mortise/types.hpp"

namespace mortise::store::redis {

// The plain layout: `lease` is prefix + key, and its value the owner token as text. What only this library
// knows of lies beside it, in the same slot of a cluster, under names that end in ":mortise"; a lease whose
// name would look like one of those (or like what follows) gets a "~" at its end.
struct KeyNames {
  std::string lease;
  std::string notes;  // a hash: f, the last fencing number; w, until when somebody may be waiting; r, who
                      // released last
  std::string bell;   // a list with one element when a waiter is to look
};

KeyNames names_of(std::string_view prefix, const LockKey& key);

// The way back: empty when it is no lease of that prefix.
std::string_view key_of_lease(std::string_view prefix, std::string_view lease);

// The slot of a cluster that a name belongs to: what is hashed is the tag, if there is one.
std::uint16_t slot_of(std::string_view name);

}  // namespace mortise::store::redis
