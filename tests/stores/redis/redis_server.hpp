// A Redis server of the test's own.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/temporary_directory.hpp"

namespace mortise::test {

// Runs on a unix socket in a directory of its own, and on a loopback port if asked to. It is killed with this
// object, and with the test; a forked child's copy leaves it alone.
class RedisServer {
 public:
  // Returns when it answers. `arguments` are those of redis-server; `configuration` is the text of a file
  // that it may write to, as a sentinel does.
  explicit RedisServer(std::vector<std::string> arguments = {}, std::uint16_t port = 0,
                       const std::string& configuration = "");
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;
  ~RedisServer();

  // "redis+unix:..." or "redis://127.0.0.1:...", with `options` behind it.
  [[nodiscard]] std::string url(const std::string& options = "") const;
  [[nodiscard]] std::string socket() const { return directory_.file("socket"); }
  [[nodiscard]] std::string file(const std::string& name) const { return directory_.file(name); }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] pid_t pid() const { return pid_; }

  // Without its data, unless it was asked to save them.
  void kill();
  // After kill().
  void start();
  void stop() const;  // SIGSTOP
  void resume() const;

  // What redis-cli prints, without the last line's end.
  std::string cli(const std::vector<std::string>& words) const;

 private:
  pid_t owner_;
  TemporaryDirectory directory_;
  std::vector<std::string> arguments_;
  std::uint16_t port_;
  pid_t pid_ = -1;
};

// A port of the loopback interface that nobody listens on at this moment.
std::uint16_t free_port();

}  // namespace mortise::test
