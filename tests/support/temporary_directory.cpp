#include "support/temporary_directory.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace mortise::test {

TemporaryDirectory::TemporaryDirectory() : owner_(getpid()) {
  std::string name = "/dev/shm/mortise-test-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), name);
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  if (getpid() != owner_) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace mortise::test
