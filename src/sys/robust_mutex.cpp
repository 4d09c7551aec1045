#include "sys/robust_mutex.hpp"

#include <cerrno>
#include <cstring>

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

// glibc asserts what it finds in a mutex, and an assertion ends the process. So bytes that were scribbled
// over are not shown to it: the kind is what its assertions depend on.
bool RobustMutex::is_of_our_kind() const noexcept {
#ifdef __GLIBC__
  static const int kind = [] {
    RobustMutex fresh;
    return fresh.initialize() ? fresh.mutex_.__data.__kind : -1;
  }();
  return mutex_.__data.__kind == kind;
#else
  return true;
#endif
}

RobustMutex::Outcome RobustMutex::try_lock() noexcept {
  if (!is_of_our_kind()) return Outcome::unusable;
  switch (pthread_mutex_trylock(&mutex_)) {
    case 0:
      return Outcome::locked;
    case EOWNERDEAD:
      return Outcome::owner_died;
    case EBUSY:
      return Outcome::busy;
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
