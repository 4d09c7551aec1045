// How a process is, as the kernel sees it.
#pragma once

#include "mortise/inspect.hpp"

namespace inspect_locks {

enum class ProcessState {
  running,  // or ready to, or asleep as anybody who waits
  stopped,  // by a signal or a debugger
  uninterruptible,
  dead,
  elsewhere,  // of another pid namespace, where its pid means something else
  inherited,  // the process itself is gone; a descendant keeps its leases (see with-lock)
};

ProcessState state_of(const mortise::HolderInfo& process);
const char* name_of(ProcessState state);

}  // namespace inspect_locks
