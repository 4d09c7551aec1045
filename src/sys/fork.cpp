#include "sys/fork.hpp"

#include <pthread.h>

#include <array>
#include <atomic>

namespace mortise::sys {

namespace {

struct Guarded {
  std::array<std::mutex, kProcessWide> mutexes;
  std::atomic<void (*)()> before = nullptr;
  std::atomic<void (*)()> hook = nullptr;

  Guarded() {
    pthread_atfork(
        [] {
          guarded().lock_all();
          if (auto* run = guarded().before.load()) run();
        },
        [] { guarded().unlock_all(); },
        [] {
          if (auto* run = guarded().hook.load()) run();
          guarded().unlock_all();
        });
  }
  // Never destroyed: a thread may outlive static destruction.
  static Guarded& guarded() {
    static auto* const instance = new Guarded;
    return *instance;
  }
  void lock_all() {
    for (std::mutex& mutex : mutexes) mutex.lock();
  }
  void unlock_all() {
    for (std::mutex& mutex : mutexes) mutex.unlock();
  }
};

}  // namespace

std::mutex& process_mutex(ProcessWide state) {
  return Guarded::guarded().mutexes[static_cast<std::size_t>(state)];
}

void run_before_fork(void (*hook)()) {
  Guarded::guarded().before = hook;
}

void run_in_forked_child(void (*hook)()) {
  Guarded::guarded().hook = hook;
}

}  // namespace mortise::sys
