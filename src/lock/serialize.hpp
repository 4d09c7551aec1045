// The text of a lease that is handed over:
//
//   mortise:1:TTL_MS:FENCE:TOKEN:KEY:CHECKSUM
//
// numbers in decimal, the token as 16 and the checksum as 8 hexadecimal digits, the key in hexadecimal.
// Printable, one line, nothing that a shell or a queue would touch.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mortise/types.hpp"

namespace mortise::detail {

struct SerializedLease {
  LockKey key;
  Ttl ttl;
  OwnerToken owner;
  std::uint64_t fencing_token;
};

std::string to_text(const SerializedLease& lease);

// Throws std::invalid_argument for anything that to_text() did not make; for another version it names that
// version.
SerializedLease from_text(std::string_view text);

}  // namespace mortise::detail
