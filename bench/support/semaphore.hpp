// How the processes of a benchmark tell each other to go on, asleep meanwhile.
#pragma once

#include <semaphore.h>

#include <stdexcept>

namespace mortise::bench {

// In shared memory.
class Semaphore {
 public:
  Semaphore() {
    if (sem_init(&semaphore_, 1, 0) != 0) throw std::runtime_error("sem_init failed");
  }
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;
  ~Semaphore() { sem_destroy(&semaphore_); }
  void post() { sem_post(&semaphore_); }
  void wait() {
    while (sem_wait(&semaphore_) != 0) {
    }
  }

 private:
  sem_t semaphore_{};
};

}  // namespace mortise::bench
