// The connections of a store to PostgreSQL.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "store/sql/options.hpp"
#include "store/sql/postgresql_connection.hpp"
#include "store/sql/postgresql_listener.hpp"
#include "sys/clock.hpp"

namespace mortise::sql {

// Any number of threads; each has a connection for the time of one statement. A forked child begins with
// none.
class PostgresqlPool {
 public:
  // The stores of a process that connect alike share one.
  static std::shared_ptr<PostgresqlPool> of(const Options& options);

  explicit PostgresqlPool(Options options) : options_(std::move(options)), listener_(options_) {}
  PostgresqlPool(const PostgresqlPool&) = delete;
  PostgresqlPool& operator=(const PostgresqlPool&) = delete;
  ~PostgresqlPool();

  PostgresqlListener& listener() { return listener_; }

  // What operation(connection, deadline) gives. Throws PostgresqlFailure.
  template <class Operation>
  auto lend(sys::TimePoint deadline, const Operation& operation) {
    Loan loan(*this, deadline);
    try {
      return operation(*loan.connection, deadline);
    } catch (const PostgresqlFailure& failed) {
      using Kind = PostgresqlFailure::Kind;
      if (failed.kind == Kind::lost || failed.kind == Kind::unsent) loan.lost();
      throw;
    }
  }

 private:
  // A connection that goes back at the end, unless it is said to be lost.
  struct Loan {
    Loan(PostgresqlPool& from, sys::TimePoint deadline) : pool(from), connection(from.take(deadline)) {}
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    ~Loan() { pool.give_back(std::move(connection)); }
    // It is, and those that lie idle will be, too.
    void lost() {
      connection.reset();
      pool.drop_idle();
    }

    PostgresqlPool& pool;
    std::unique_ptr<PostgresqlConnection> connection;
  };

  using Connections = std::vector<std::unique_ptr<PostgresqlConnection>>;
  // Throws PostgresqlFailure.
  std::unique_ptr<PostgresqlConnection> take(sys::TimePoint deadline);
  void give_back(std::unique_ptr<PostgresqlConnection> connection) noexcept;
  void drop_idle();
  // One that lies idle, or leave to make one (nullptr); false: neither.
  bool try_take(std::unique_ptr<PostgresqlConnection>& connection);

  const Options options_;
  PostgresqlListener listener_;
  // Under the mutex, as what follows. It is held across a fork, so a child finds them whole.
  std::uint64_t incarnation_ = 0;
  Connections idle_;
  unsigned lent_ = 0;
};

}  // namespace mortise::sql
