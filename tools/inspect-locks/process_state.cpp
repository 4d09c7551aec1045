#include "process_state.hpp"

#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <string>

namespace inspect_locks {
namespace {

bool is_of_this_namespace(const mortise::HolderInfo& process) {
  struct stat status {};
  return stat("/proc/self/ns/pid", &status) == 0 && status.st_ino == process.pid_namespace;
}

// The letter behind the last parenthesis of /proc/PID/stat; '\0': there is no such process.
char letter_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string line((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t end = line.rfind(')');
  return end == std::string::npos || end + 2 >= line.size() ? '\0' : line[end + 2];
}

}  // namespace

ProcessState state_of(const mortise::HolderInfo& process) {
  if (!process.alive) return ProcessState::dead;
  if (!is_of_this_namespace(process)) return ProcessState::elsewhere;
  switch (letter_of(process.pid)) {
    case 'T':
    case 't':
      return ProcessState::stopped;
    case 'D':
      return ProcessState::uninterruptible;
    case 'Z':
    case 'X':
    case '\0':
      return ProcessState::inherited;
    default:
      return ProcessState::running;
  }
}

const char* name_of(ProcessState state) {
  switch (state) {
    case ProcessState::running:
      return "running";
    case ProcessState::stopped:
      return "stopped";
    case ProcessState::uninterruptible:
      return "uninterruptible";
    case ProcessState::dead:
      return "dead";
    case ProcessState::elsewhere:
      return "in another namespace";
    case ProcessState::inherited:
      return "gone, kept by a descendant";
  }
  return "";
}

}  // namespace inspect_locks
