#include "terminal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>

namespace with_lock {

namespace {

// Whoever is in the background is stopped for this, unless the signal is blocked.
void set_foreground(int terminal, pid_t group) {
  sigset_t stop;
  sigset_t before;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTTOU);
  sigprocmask(SIG_BLOCK, &stop, &before);
  tcsetpgrp(terminal, group);
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

Terminal::Terminal() : descriptor_(open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)) {}

Terminal::~Terminal() {
  take_back();
  if (descriptor_ >= 0) close(descriptor_);
}

bool Terminal::is_ours() const {
  return descriptor_ >= 0 && tcgetpgrp(descriptor_) == getpgrp();
}

void Terminal::lend(pid_t group) {
  set_foreground(descriptor_, group);
  is_lent_ = true;
}

void Terminal::take_back() {
  if (is_lent_) set_foreground(descriptor_, getpgrp());
  is_lent_ = false;
}

}  // namespace with_lock
