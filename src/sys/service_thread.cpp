#include "sys/service_thread.hpp"

#include <pthread.h>
#include <signal.h>

#include <utility>

namespace mortise::sys {

namespace {

// A new thread begins with its maker's mask.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace

std::thread start_service_thread(std::function<void()> body) {
  const BlockedSignals blocked;
  return std::thread(std::move(body));
}

}  // namespace mortise::sys
