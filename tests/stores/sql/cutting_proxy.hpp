// A network that loses what a test wants to be lost.
#pragma once

#include <atomic>
#include <list>
#include <mutex>
#include <string>
#include <thread>

namespace mortise::test {

// Between a client and a server, both on sockets in directories as PostgreSQL has them.
class CuttingProxy {
 public:
  enum class Mode {
    forward,
    cut_requests,  // the next request does not reach the server: both sides see the end
    cut_answers,   // the next request does, and its answer is lost
    swallow,       // nothing is passed on, and nobody sees the end
  };

  // Listens in `directory`, and forwards to the server in `server_directory`.
  CuttingProxy(const std::string& directory, const std::string& server_directory);
  CuttingProxy(const CuttingProxy&) = delete;
  CuttingProxy& operator=(const CuttingProxy&) = delete;
  ~CuttingProxy();

  // cut_requests and cut_answers are for one request; then it forwards again.
  void set(Mode mode) { mode_ = mode; }

 private:
  void accept_all();
  void serve(int client);

  const std::string server_;
  int listening_;
  std::atomic<Mode> mode_ = Mode::forward;
  std::atomic<bool> is_over_ = false;
  std::list<std::thread> threads_;
};

}  // namespace mortise::test
