// Leases and findings as JSON for programs.
//
//   {
//     "key": "a\\nb",                   the key's text (key_text.hpp), as in the table
//     "key_hex": "610a62",              the key's exact bytes
//     "holder": {                       null: handed over, the lease outlives its process
//       "pid": 4242,
//       "command": "worker",            escaped like the key
//       "alive": true
//     },
//     "age_ms": 1200,                   since the grant
//     "remaining_ms": 28800,            until the expiry
//     "fencing_token": 17,              up to 2^64 - 1
//     "sleepers": 2                     waiters that sleep in the kernel at this moment
//   }
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mortise/inspect.hpp"

namespace inspect_locks {

// {"store": URL, "locks": [...]}
std::string render_json(std::string_view store_url, std::span<const mortise::LeaseInfo> leases);

// The object of one lease; null when there is none.
std::string render_json(const std::optional<mortise::LeaseInfo>& lease);

// {"store": URL, "sound": true, "findings": [{"severity", "sentence"}...], "repairs": [SENTENCE...]}
std::string render_json(std::string_view store_url, const mortise::RepairReport& report);

}  // namespace inspect_locks
