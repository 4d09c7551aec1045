// Stands between a store and its server, and does to their talk what networks do.
#pragma once

#include <poll.h>

#include <atomic>
#include <cstddef>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/temporary_directory.hpp"
#include "sys/file.hpp"

namespace mortise::test {

struct Fault {
  enum class Kind {
    none,
    refuse,            // connections are closed, and new ones as soon as they are made
    cut_requests,      // `bytes` of what the store says are passed on, then the connection is closed
    cut_replies,       // the same with what the server says
    swallow_requests,  // the server hears nothing
    swallow_replies,   // the store hears nothing
    answer             // the server hears nothing, and the store hears `text` for each command
  } kind = Kind::none;
  std::size_t bytes = 0;
  std::string text{};
  unsigned times = 1000;  // so many connections meet it; then all is well
};

// Listens on a unix socket of its own. Connections that were made before are met by a fault, too.
class FaultyProxy {
 public:
  explicit FaultyProxy(std::string server_socket);
  FaultyProxy(const FaultyProxy&) = delete;
  FaultyProxy& operator=(const FaultyProxy&) = delete;
  ~FaultyProxy();

  void inject(Fault fault);
  void heal() { inject({}); }
  [[nodiscard]] std::string url(const std::string& options) const {
    return "redis+unix:" + directory_.file("proxy") + options;
  }

 private:
  struct Link {
    sys::FileDescriptor store;
    sys::FileDescriptor server;
    std::size_t requested = 0;  // bytes passed on since the fault was injected
    std::size_t replied = 0;
    bool is_over = false;
  };
  void run();
  std::vector<pollfd> what_to_watch();
  void accept_one();
  void pass_request(Link& link);
  void pass_reply(Link& link);
  void pass_until_cut(Link& link, std::string_view bytes, int to, std::size_t& passed, bool is_cut);
  void end(Link& link);

  TemporaryDirectory directory_;
  const std::string server_socket_;
  sys::FileDescriptor listener_;
  sys::FileDescriptor wake_;
  std::atomic<bool> is_done_ = false;
  std::mutex mutex_;
  Fault fault_;
  std::list<Link> links_;
  std::jthread thread_;
};

}  // namespace mortise::test
