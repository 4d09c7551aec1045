#include "support/temporary.hpp"

#include <unistd.h>

#include <filesystem>
#include <system_error>

namespace mortise::bench {

TemporaryName::TemporaryName(const std::string& place) {
  static unsigned count = 0;
  path_ = place + "/mortise.bench-" + std::to_string(getpid()) + "." + std::to_string(count++);
}

TemporaryName::~TemporaryName() {
  std::error_code ignored;  // a server may still be removing files of its own
  std::filesystem::remove_all(path_, ignored);
}

TemporaryDirectory::TemporaryDirectory(const std::string& place) : TemporaryName(place) {
  std::filesystem::create_directory(path());
}

}  // namespace mortise::bench
