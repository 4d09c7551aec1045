// A directory on a tmpfs for the segments of one test.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace mortise::test {

// Exists, with its contents, as long as this object; a forked child's copy leaves it alone.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory();

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] std::string file(std::string_view name) const { return path_ / name; }

 private:
  pid_t owner_;
  std::filesystem::path path_;
};

}  // namespace mortise::test
