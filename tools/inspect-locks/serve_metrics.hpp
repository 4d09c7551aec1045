// The metrics over HTTP.
#pragma once

#include "options.hpp"

namespace inspect_locks {

// Answers GET /metrics, one client after another, until the process is ended. Says on standard output where
// it listens. Throws std::invalid_argument for an address that is none, std::system_error when it cannot
// listen there.
[[noreturn]] void serve_metrics(const Options& options);

}  // namespace inspect_locks
