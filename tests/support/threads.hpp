// Which threads there are.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <iterator>
#include <set>
#include <string>

namespace mortise::test {

// Of a process, those of the library and of a sanitizer included. A thread that was joined may still be among
// them for a moment.
inline std::set<std::string> thread_ids(pid_t process = getpid()) {
  std::set<std::string> ids;
  for (const auto& each : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task"))
    ids.insert(each.path().filename());
  return ids;
}

inline long count_threads(pid_t process = getpid()) {
  return std::ssize(thread_ids(process));
}

}  // namespace mortise::test
