// Results that must not be ignored: compiled once for each, and expected to draw a warning.
#include "mortise/mortise.hpp"

void forget(mortise::Lock& lock) {
#if defined(FORGET_acquire)
  lock.acquire();
#elif defined(FORGET_acquire_immediately)
  lock.acquire_immediately();
#elif defined(FORGET_run)
  lock.run([] {});
#elif defined(FORGET_serialize)
  lock.serialize();
#elif defined(FORGET_restore_lock)
  mortise::restore_lock("text");
#endif
}
