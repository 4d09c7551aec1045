#include "store/sql/postgresql_pool.hpp"

#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "sys/fork.hpp"
#include "sys/process.hpp"

namespace mortise::sql {

namespace {

std::mutex& mutex() {
  return sys::process_mutex(sys::ProcessWide::connections);
}

}  // namespace

std::shared_ptr<PostgresqlPool> PostgresqlPool::of(const Options& options) {
  // Under the mutex. Never destroyed: stores of static storage duration may be opened late.
  static auto* const pools = new std::map<std::string, std::weak_ptr<PostgresqlPool>>;
  const std::string name = std::to_string(options.pool) + " " +
                           std::to_string(options.connect_timeout.count()) + " " + options.location;
  const std::lock_guard guard(mutex());
  std::weak_ptr<PostgresqlPool>& known = (*pools)[name];
  auto pool = known.lock();
  if (!pool) known = pool = std::make_shared<PostgresqlPool>(options);
  return pool;
}

PostgresqlPool::~PostgresqlPool() {
  drop_idle();
}

bool PostgresqlPool::try_take(std::unique_ptr<PostgresqlConnection>& connection) {
  const std::lock_guard guard(mutex());
  if (incarnation_ != sys::incarnation()) {
    incarnation_ = sys::incarnation();
    idle_.clear();
    lent_ = 0;  // to threads that this process does not have
  }
  if (lent_ == options_.pool) return false;
  if (!idle_.empty()) {
    connection = std::move(idle_.back());
    idle_.pop_back();
  }
  ++lent_;
  return true;
}

std::unique_ptr<PostgresqlConnection> PostgresqlPool::take(sys::TimePoint deadline) {
  std::unique_ptr<PostgresqlConnection> connection;
  // A condition variable with sleepers does not survive a fork.
  while (!try_take(connection)) {
    if (sys::Clock::now() >= deadline) {
      throw PostgresqlFailure{
          PostgresqlFailure::Kind::unsent,
          StoreErrc::refused,
          options_.url + ": all connections of the pool are in use; make it larger with pool=",
          {}};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  try {
    if (!connection) connection = std::make_unique<PostgresqlConnection>(options_, deadline);
  } catch (...) {
    give_back(nullptr);
    throw;
  }
  return connection;
}

void PostgresqlPool::give_back(std::unique_ptr<PostgresqlConnection> connection) noexcept {
  const std::lock_guard guard(mutex());
  if (incarnation_ != sys::incarnation()) return;
  --lent_;
  if (connection) idle_.push_back(std::move(connection));
}

void PostgresqlPool::drop_idle() {
  Connections dropped;  // closed without the mutex
  const std::lock_guard guard(mutex());
  dropped.swap(idle_);
}

}  // namespace mortise::sql
