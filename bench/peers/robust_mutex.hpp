// What the C library offers between processes: a mutex that tells its next owner when the last one died. It
// has no name and no expiry.
#pragma once

#include <pthread.h>

#include "support/exclusion.hpp"
#include "support/team.hpp"

namespace mortise::bench {

// Robust and process-shared. Its memory must never be unmapped: the C library keeps its address.
void make_robust(pthread_mutex_t& mutex);

class RobustMutex : public Exclusion {
 public:
  RobustMutex() { make_robust(*mutex_); }
  void acquire() override;
  void release() override;

 private:
  Shared<pthread_mutex_t> mutex_{pthread_mutex_t{}};
};

}  // namespace mortise::bench
