// How many threads there are.
#pragma once

#include <filesystem>
#include <iterator>

namespace mortise::test {

// Of this process, those of the library and of a sanitizer included. A thread that was joined may still be
// counted for a moment.
inline long count_threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

}  // namespace mortise::test
