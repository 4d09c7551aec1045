// A file, and how it is opened.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include "support/exclusion.hpp"

namespace mortise::bench {

inline int open_file(const std::string& path) {
  constexpr mode_t kOwnerOnly = 0600;
  const int descriptor = open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, kOwnerOnly);
  must(descriptor >= 0, "open");
  return descriptor;
}

// Each process opens it for itself: descriptors that are inherited share their locks.
class OpenFile {
 public:
  OpenFile() = default;
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  void open() { descriptor_ = open_file(file_.path()); }
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  TemporaryName file_;
  int descriptor_ = -1;
};

}  // namespace mortise::bench
