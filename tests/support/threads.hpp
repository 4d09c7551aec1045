// Which threads there are.
#pragma once

#include <filesystem>
#include <iterator>
#include <set>
#include <string>

namespace mortise::test {

// Of this process, those of the library and of a sanitizer included. A thread that was joined may still be
// among them for a moment.
inline std::set<std::string> thread_ids() {
  std::set<std::string> ids;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/task"))
    ids.insert(each.path().filename());
  return ids;
}

inline long count_threads() {
  return std::ssize(thread_ids());
}

}  // namespace mortise::test
