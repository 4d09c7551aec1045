// Waiting for the key, with an ear for signals.
#pragma once

#include <optional>

#include "lease.hpp"
#include "mortise/types.hpp"
#include "signals.hpp"

namespace with_lock {

struct Wait {
  bool granted = false;
  int signal = 0;  // that ended the wait; the lease is not held then
};

// nullopt: waits for ever. Throws StoreError.
Wait acquire(Lease& lease, std::optional<mortise::WaitTime> timeout, const SignalQueue& signals);

}  // namespace with_lock
