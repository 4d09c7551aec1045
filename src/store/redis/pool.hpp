// The connections of a process that nobody uses at this moment.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "store/redis/connection.hpp"

namespace mortise::store::redis {

// Any thread may use it. There are as many connections as threads ask at once; of those that are idle,
// kMostIdle are kept, the last used first.
class Pool {
 public:
  static constexpr std::size_t kMostIdle = 64;

  explicit Pool(const Options& options) : options_(options) {}

  // An idle connection to that server, or a new one. nullptr: `failure` says why not.
  std::unique_ptr<Connection> take(const Address& address, sys::TimePoint deadline, Reply& failure);
  // Of a broken connection, or one on which something is under way, there is no giving back.
  void give_back(std::unique_ptr<Connection> connection) noexcept;
  // The server behind that address may be another one now.
  void forget(const Address& address);

 private:
  std::unique_ptr<Connection> take_idle(const Address& address);

  const Options& options_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Connection>> idle_;
};

}  // namespace mortise::store::redis
