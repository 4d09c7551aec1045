// Acquires of which nobody knows whether they happened are undone when the server can be reached again (C23).
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "store/redis/client.hpp"
#include "store/redis/key_names.hpp"
#include "sys/clock.hpp"

namespace mortise::store::redis {

// Has a thread while there is something to undo. Any thread may use it.
class Undo {
 public:
  explicit Undo(Client& client) : client_(client) {}
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;
  // What is not undone yet is left to expire.
  ~Undo();

  // Releases the key if that owner has it. Tried again until `until`: by then a lease has expired.
  void later(KeyNames names, std::string owner, sys::TimePoint until) noexcept;

 private:
  struct Task {
    KeyNames names;
    std::string owner;
    sys::TimePoint until;
  };
  void run();

  Client& client_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  std::thread thread_;
  bool is_running_ = false;
  bool is_stopped_ = false;
};

}  // namespace mortise::store::redis
