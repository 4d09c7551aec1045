// Keeps a number of worker processes running.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

namespace prefork_server {

class Supervisor {
 public:
  // `work` is called in each worker process, with SIGTERM blocked: it returns some time after a SIGTERM is
  // pending.
  Supervisor(std::size_t workers, std::function<void()> work);

  // Starts the workers and replaces those that die, until SIGTERM or SIGINT; then stops them and waits for
  // each.
  void run();

 private:
  using Clock = std::chrono::steady_clock;
  struct Worker {
    pid_t pid = 0;
    Clock::time_point started;
  };

  void start_worker();
  [[noreturn]] void be_a_worker(pid_t parent);
  void bury_the_dead();
  void stop_workers();
  void send_to_workers(int signal) const;

  std::size_t size_;
  std::function<void()> work_;
  std::vector<Worker> workers_;
};

}  // namespace prefork_server
