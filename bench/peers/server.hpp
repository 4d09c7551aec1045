// A server that a benchmark starts for itself, without privileges, and that ends with it.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <functional>
#include <string>
#include <vector>

namespace mortise::bench {

class Server {
 public:
  // What it prints goes nowhere. `end_signal` ends it at once.
  explicit Server(std::vector<std::string> command, int end_signal = SIGKILL);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  // Throws when the process ends first, or takes longer than a minute.
  void wait_until(const std::function<bool()>& ready);
  // Throws unless it ends with status 0.
  void wait_for_end();

 private:
  std::string name_;
  int end_signal_;
  pid_t maker_;  // a forked child's copy ends nothing
  pid_t pid_;    // 0: it has ended
};

// Servers run as this user where the benchmark runs as root: some refuse to be root.
void give_to_unprivileged(const std::string& directory);

}  // namespace mortise::bench
