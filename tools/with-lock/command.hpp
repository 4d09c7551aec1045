// The command that runs under the lease.
#pragma once

#include <sys/types.h>

#include <csignal>

#include "lease.hpp"
#include "options.hpp"

namespace with_lock {

struct Launch {
  const Options& options;
  const Lease& lease;
  int lifeline;          // see Lease::lifeline(); the command and its descendants inherit a copy
  sigset_t signal_mask;  // the command's
};

// Starts the command, in a process group of its own, whose number is the pid that this returns. It is killed
// when the calling thread ends. Throws std::system_error.
pid_t start(const Launch& launch);

}  // namespace with_lock
