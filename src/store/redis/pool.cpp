#include "store/redis/pool.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace mortise::store::redis {

std::unique_ptr<Connection> Pool::take(const Address& address, sys::TimePoint deadline, Reply& failure) {
  while (std::unique_ptr<Connection> idle = take_idle(address)) {
    if (idle->is_idle()) return idle;  // else the server has hung up meanwhile
  }
  return Connection::open(address, options_, Introduction::as_user, deadline, failure);
}

std::unique_ptr<Connection> Pool::take_idle(const Address& address) {
  const std::lock_guard guard(mutex_);
  const auto found = std::find_if(idle_.rbegin(), idle_.rend(),
                                  [&](const auto& each) { return each->address() == address; });
  if (found == idle_.rend()) return nullptr;
  std::unique_ptr<Connection> connection = std::move(*found);
  idle_.erase(std::next(found).base());
  return connection;
}

void Pool::give_back(std::unique_ptr<Connection> connection) noexcept {
  if (!connection || connection->is_broken()) return;
  std::unique_ptr<Connection> surplus;  // closed without the mutex
  const std::lock_guard guard(mutex_);
  try {
    idle_.push_back(std::move(connection));
  } catch (const std::bad_alloc&) {
    return;
  }
  if (idle_.size() <= kMostIdle) return;
  surplus = std::move(idle_.front());
  idle_.erase(idle_.begin());
}

void Pool::forget(const Address& address) {
  std::vector<std::unique_ptr<Connection>> closed;
  const std::lock_guard guard(mutex_);
  const auto to_close = std::stable_partition(idle_.begin(), idle_.end(),
                                              [&](const auto& each) { return each->address() != address; });
  std::move(to_close, idle_.end(), std::back_inserter(closed));
  idle_.erase(to_close, idle_.end());
}

}  // namespace mortise::store::redis
