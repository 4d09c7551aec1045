// A connection to PostgreSQL whose every step has a deadline. Of the files of the store, this and its .cpp
// are those that know libpq.
#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "store/sql/database.hpp"
#include "store/sql/options.hpp"
#include "sys/clock.hpp"

namespace mortise::sql {

// What went wrong with a statement or a connection, for who decides whether to try again.
struct PostgresqlFailure {
  enum class Kind {
    lost,       // the connection is gone; what was sent may have been carried out
    unsent,     // the same before anything was sent
    again,      // nothing was changed, and another attempt may succeed
    unnamed,    // the server does not know a statement that was prepared: a proxy is in between
    permanent,  // another attempt will fail alike
  } kind;
  StoreErrc code;
  std::string sentence;
  std::string state;  // SQLSTATE, or empty
};

// Throws std::invalid_argument for a URL that libpq cannot read.
void check_location(const Options& options);

class PostgresqlConnection {
 public:
  // Throws PostgresqlFailure, as do all.
  PostgresqlConnection(const Options& options, sys::TimePoint deadline);
  PostgresqlConnection(const PostgresqlConnection&) = delete;
  PostgresqlConnection& operator=(const PostgresqlConnection&) = delete;
  // A forked child closes its copy of the socket, and says no farewell to its parent's server.
  ~PostgresqlConnection();

  // In one round trip, but for a statement that this connection has not prepared yet.
  std::vector<Row> run(Query query, const std::string& text, std::span<const Parameter> parameters,
                       bool prepared, sys::TimePoint deadline);
  std::vector<Row> run(const std::string& text, sys::TimePoint deadline);

  // The payloads of the notifications that have come. Throws when the connection is lost.
  std::vector<std::string> take_notifications();
  [[nodiscard]] int socket() const { return PQsocket(connection_.get()); }

 private:
  using Result = std::unique_ptr<PGresult, void (*)(PGresult*)>;
  void connect(sys::TimePoint deadline);
  void prepare(Query query, const std::string& name, const std::string& text, std::size_t count,
               sys::TimePoint deadline);
  // After something was sent: sends the rest of it, and gives the last result if it is none of failure.
  Result answer(sys::TimePoint deadline);
  void flush(sys::TimePoint deadline);
  Result last_result(sys::TimePoint deadline);
  void take_input();
  void wait(short events, sys::TimePoint deadline) const;
  void require_sent(int is_sent) const;
  [[nodiscard]] PostgresqlFailure failure(PostgresqlFailure::Kind kind, StoreErrc code,
                                          const std::string& what, const std::string& state = {}) const;
  [[nodiscard]] PostgresqlFailure lost() const;

  struct Finish {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };
  const Options& options_;
  std::uint64_t incarnation_;
  std::unique_ptr<PGconn, Finish> connection_;
  std::set<std::string> prepared_;  // the names
};

}  // namespace mortise::sql
