#include "segment/exclusion.hpp"

#include <fcntl.h>

#include <cerrno>

namespace mortise::segment {

// A descriptor of its own: the locks of an open file description do not exclude each other.
Exclusion::Exclusion(const Segment& segment)
    : file_(sys::reopen(segment.file().get(), O_RDWR)),
      length_(lock_byte(segment.header().processes) - lock_byte(0)),
      error_(file_ ? sys::try_lock_range(file_.get(), lock_byte(0), length_) : errno) {}

// Unlocked and not only closed: a child that was forked meanwhile has a copy of the descriptor.
Exclusion::~Exclusion() {
  if (in_force()) sys::unlock_range(file_.get(), lock_byte(0), length_);
}

}  // namespace mortise::segment
