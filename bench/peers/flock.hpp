// flock(2): the kernel's lock on an open file description.
#pragma once

#include "support/exclusion.hpp"

namespace mortise::bench {

// Opens the file for each acquire and closes it afterwards.
class FileLock : public Exclusion {
 public:
  void acquire() override;
  void release() override;

 private:
  TemporaryName file_;
  int descriptor_ = -1;  // while it is held
};

}  // namespace mortise::bench
