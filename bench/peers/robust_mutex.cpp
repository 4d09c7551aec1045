#include "peers/robust_mutex.hpp"

#include "peers/peer.hpp"

namespace mortise::bench {

namespace {

const PeerEntry kEntry("robust mutex", make_peer<RobustMutex>);

}  // namespace

void make_robust(pthread_mutex_t& mutex) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  must(pthread_mutex_init(&mutex, &attributes) == 0, "pthread_mutex_init");
  pthread_mutexattr_destroy(&attributes);
}

void RobustMutex::acquire() {
  must(pthread_mutex_lock(&*mutex_) == 0, "pthread_mutex_lock");
}

void RobustMutex::release() {
  must(pthread_mutex_unlock(&*mutex_) == 0, "pthread_mutex_unlock");
}

}  // namespace mortise::bench
