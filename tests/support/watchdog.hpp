// Ends a test that hangs.
#pragma once

#include <unistd.h>

#include <chrono>

namespace mortise::test {

// After `limit` SIGALRM kills the test program, and its children die with it (see ChildProcess).
class Watchdog {
 public:
  explicit Watchdog(std::chrono::seconds limit = std::chrono::seconds(50)) {
    alarm(static_cast<unsigned>(limit.count()));
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog() { alarm(0); }
};

}  // namespace mortise::test
