// A segment without users.
#pragma once

#include <sys/types.h>

#include "segment/segment.hpp"
#include "sys/file.hpp"

namespace mortise::segment {

// While it lives no process is attached, and none can attach: it holds the lock bytes of all process slots.
// Whoever tries is told that each of them has a live process.
class Exclusion {
 public:
  // Takes all of them or none. When it is not in force, error() says why: EAGAIN, somebody is attached.
  explicit Exclusion(const Segment& segment);
  Exclusion(const Exclusion&) = delete;
  Exclusion& operator=(const Exclusion&) = delete;
  ~Exclusion();

  [[nodiscard]] bool in_force() const noexcept { return error_ == 0; }
  [[nodiscard]] int error() const noexcept { return error_; }

 private:
  sys::FileDescriptor file_;
  off_t length_;
  int error_;
};

}  // namespace mortise::segment
