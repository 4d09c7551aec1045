#include "sys/robust_mutex.hpp"

#include <linux/futex.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include "sys/process.hpp"

namespace mortise::sys {

bool RobustMutex::initialize() noexcept {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  const bool ok = pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0 &&
                  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0 &&
                  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK) == 0 &&
                  pthread_mutex_init(&mutex_, &attributes) == 0;
  pthread_mutexattr_destroy(&attributes);
  return ok;
}

#ifdef __GLIBC__

namespace {

// The word that the kernel knows, too: the owner's thread id, and FUTEX_OWNER_DIED in its place when it died.
std::uint32_t lock_word(const pthread_mutex_t& mutex) noexcept {
  return static_cast<std::uint32_t>(__atomic_load_n(&mutex.__data.__lock, __ATOMIC_ACQUIRE));
}

pid_t owner_in(std::uint32_t word) noexcept {
  return static_cast<pid_t>(word & FUTEX_TID_MASK);
}

// What glibc writes over the owner when a mutex was unlocked without a repair.
constexpr int kNotRecoverable = std::numeric_limits<int>::max() - 1;

}  // namespace

// glibc asserts what it finds in a mutex, and an assertion ends the process. So bytes that were scribbled
// over are not shown to it: the kind is what its assertions depend on.
bool RobustMutex::is_of_our_kind() const noexcept {
  static const int kind = [] {
    RobustMutex fresh;
    return fresh.initialize() ? fresh.mutex_.__data.__kind : -1;
  }();
  return __atomic_load_n(&mutex_.__data.__kind, __ATOMIC_RELAXED) == kind;
}

// The kernel takes a dying thread's id out of the word before the thread is gone. So a word that names the
// same thread before and after a look that finds no such thread was written by nobody who locks.
bool RobustMutex::is_locked_by_nobody() const noexcept {
  const std::uint32_t word = lock_word(mutex_);
  return word != 0 && (word & FUTEX_OWNER_DIED) == 0 && !thread_exists(owner_in(word)) &&
         lock_word(mutex_) == word;
}

RobustMutex::Condition RobustMutex::condition() const noexcept {
  using State = Condition::State;
  if (!is_of_our_kind() || is_locked_by_nobody()) return {State::damaged};
  const std::uint32_t word = lock_word(mutex_);
  const bool is_held = word != 0 && (word & FUTEX_OWNER_DIED) == 0;
  if (is_held) return {State::held, owner_in(word)};
  if (__atomic_load_n(&mutex_.__data.__owner, __ATOMIC_RELAXED) == kNotRecoverable) return {State::damaged};
  return {word == 0 ? State::free : State::owner_died};
}

#else

// Another C library keeps its state where we do not look.
bool RobustMutex::is_of_our_kind() const noexcept {
  return true;
}
bool RobustMutex::is_locked_by_nobody() const noexcept {
  return false;
}
RobustMutex::Condition RobustMutex::condition() const noexcept {
  return {Condition::State::held};
}

#endif

RobustMutex::Outcome RobustMutex::try_lock() noexcept {
  if (!is_of_our_kind()) return Outcome::unusable;
  switch (pthread_mutex_trylock(&mutex_)) {
    case 0:
      return Outcome::locked;
    case EOWNERDEAD:
      return Outcome::owner_died;
    case EBUSY:
      return is_locked_by_nobody() ? Outcome::unusable : Outcome::busy;
    default:
      return Outcome::unusable;
  }
}

RobustMutex::Image RobustMutex::fresh_image() noexcept {
  Image image{};
  RobustMutex mutex;
  std::memset(&mutex, 0, sizeof(mutex));
  if (mutex.initialize()) std::memcpy(image.data(), &mutex.mutex_, sizeof(mutex.mutex_));
  return image;
}

}  // namespace mortise::sys
