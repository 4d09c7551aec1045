// A mutex that processes share and that survives the death of its owner. It is robust and error-checking, and
// never waits: pthread_mutex_timedlock leaves the robust list's pending entry set after a timeout, so there
// is only a try.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace mortise::sys {

class RobustMutex {
 public:
  enum class Outcome {
    locked,
    owner_died,  // locked; what it guards must be repaired, then mark_consistent()
    busy,
    unusable,  // unlocked without a repair, locked by a thread that is none, or no mutex at all
  };

  // In memory that nobody else sees yet.
  bool initialize() noexcept;

  [[nodiscard]] Outcome try_lock() noexcept;
  void mark_consistent() noexcept { pthread_mutex_consistent(&mutex_); }
  void unlock() noexcept { pthread_mutex_unlock(&mutex_); }

  // What a look at it tells, from memory that may be mapped without write access.
  struct Condition {
    enum class State { free, held, owner_died, damaged } state;
    pid_t owner = 0;  // held: the thread
    friend bool operator==(const Condition&, const Condition&) = default;
  };
  [[nodiscard]] Condition condition() const noexcept;

  // The bytes of a fresh mutex: they differ between libcs whose mutexes have the same size.
  using Image = std::array<std::byte, sizeof(pthread_mutex_t)>;
  static Image fresh_image() noexcept;

 private:
  [[nodiscard]] bool is_of_our_kind() const noexcept;
  [[nodiscard]] bool is_locked_by_nobody() const noexcept;

  pthread_mutex_t mutex_;
};

}  // namespace mortise::sys
