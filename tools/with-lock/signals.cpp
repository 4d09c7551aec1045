#include "signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>
#include <system_error>

namespace with_lock {

sigset_t unignored(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_IGN) sigaddset(&set, signal);
  }
  return set;
}

SignalQueue::SignalQueue(const sigset_t& signals)
    : descriptor_(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK)) {
  if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "cannot wait for signals");
  sigprocmask(SIG_BLOCK, &signals, nullptr);
}

SignalQueue::~SignalQueue() {
  close(descriptor_);
}

std::optional<int> SignalQueue::next() const {
  signalfd_siginfo signal{};
  if (read(descriptor_, &signal, sizeof(signal)) != sizeof(signal)) return std::nullopt;
  return static_cast<int>(signal.ssi_signo);
}

}  // namespace with_lock
