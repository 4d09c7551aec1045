// What the figures depend on: the machine, and what else it does.
#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <vector>

namespace mortise::bench {

// Machine, kernel, compiler, commit, load. The commit is what MORTISE_COMMIT in the environment says.
nlohmann::ordered_json context();

// The processors on which this process may run.
std::vector<int> processors();

// The calling thread runs on this processor only, and so do the processes that it forks.
void pin_to(int processor);

// Returns when the first thread of this process sleeps, and has slept for some milliseconds.
void wait_until_asleep(pid_t pid);

}  // namespace mortise::bench
