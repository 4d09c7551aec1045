// Leases and findings as JSON for programs.
//
//   {
//     "key": "a\\nb",            the key's text (key_text.hpp), as in the table
//     "key_hex": "610a62",       the key's exact bytes
//     "holder": {                null: bound to no process
//       "pid": 4242,
//       "pid_namespace": 40265,  the inode of the namespace that the pid is of
//       "command": "worker",     escaped like the key
//       "alive": true
//     },
//     "handed_over": false,      does it outlive its process? null: the store knows no processes
//     "age_ms": 1200,            since the grant; null, here and below: the store does not know
//     "remaining_ms": 28800,     until the expiry
//     "fencing_token": 17,       up to 2^64 - 1
//     "sleepers": 2,             waiters that sleep in the kernel at this moment
//     "counters": {"grants", "busy", "expired", "orphaned", "waits", "waited_us"}
//   }
//
// Fields may be added; what is there keeps its meaning. The schema is docs/inspect-locks.schema.json.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cells.hpp"
#include "mortise/inspect.hpp"
#include "watch.hpp"

namespace inspect_locks {

// {"store": URL, "locks": [...]}
std::string render_json(std::string_view store_url, std::span<const mortise::LeaseInfo> leases,
                        Holders holders);

// The object of one lease; null when there is none.
std::string render_json(const std::optional<mortise::LeaseInfo>& lease, Holders holders);

// {"store": URL, "sound": true, "findings": [{"severity", "sentence"}...], "repairs": [SENTENCE...]}
std::string render_json(std::string_view store_url, const mortise::RepairReport& report);

// {"store": URL, "processes": [{"pid", "pid_namespace", "command", "alive", "state", "leases"}...]}
std::string render_json(std::string_view store_url, std::span<const mortise::AttachedProcess> processes);

// {"store": URL, "leases": 3, "sleepers", "slots", "known_keys", "fullest_stripe_percent", "process_slots",
// "processes", "counters", "waits_by_length": [{"up_to_ms", "waits"}...]}
std::string render_json(std::string_view store_url, const mortise::StoreStats& stats);

// {"store": URL, "key", "key_hex", "counters"}
std::string render_json(std::string_view store_url, const mortise::LockKey& key,
                        const std::optional<mortise::Counters>& counters);

// {"time", "event", "lease": the lease after it, or before it where it ended}, on one line
std::string render_json(const Event& event, std::string_view time, Holders holders);

}  // namespace inspect_locks
