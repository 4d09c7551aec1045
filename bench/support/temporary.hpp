// What is gone when a benchmark ends.
#pragma once

#include <string>

namespace mortise::bench {

// A name in memory that nobody else uses. Whatever is there at the end is removed, a directory with all that
// it holds.
class TemporaryName {
 public:
  TemporaryName();
  TemporaryName(const TemporaryName&) = delete;
  TemporaryName& operator=(const TemporaryName&) = delete;
  ~TemporaryName();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A directory of that kind.
class TemporaryDirectory : public TemporaryName {
 public:
  TemporaryDirectory();
};

}  // namespace mortise::bench
