// What is gone when a benchmark ends.
#pragma once

#include <string>

namespace mortise::bench {

inline constexpr auto kInMemory = "/dev/shm";
inline constexpr auto kOnDisk = "/var/tmp";  // a file system that a power loss does not empty

// A name there that nobody else uses. Whatever is there at the end is removed, a directory with all that it
// holds.
class TemporaryName {
 public:
  explicit TemporaryName(const std::string& place = kInMemory);
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
  explicit TemporaryDirectory(const std::string& place = kInMemory);
};

}  // namespace mortise::bench
