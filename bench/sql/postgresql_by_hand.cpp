#include "sql/postgresql_by_hand.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

namespace mortise::bench {

PostgresqlByHand::PostgresqlByHand(const std::string& url)
    : connection_(PQconnectdb(url.c_str()), PQfinish), owner_(std::to_string(getpid())) {
  const std::string now = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
  const std::string up = "ceil(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
  prepare("acquire", "INSERT INTO locks AS held VALUES ($1, $2, " + up +
                         " + 30000) ON CONFLICT (key) DO UPDATE SET owner = $2, expires_at = " + up +
                         " + 30000 WHERE held.expires_at <= " + now +
                         " OR held.owner = $2 RETURNING nextval('locks_fences')");
  prepare("release", "WITH gone AS (DELETE FROM locks WHERE key = $1 AND owner = $2 AND expires_at > " + now +
                         " RETURNING 1) SELECT pg_notify('by_hand', $1) FROM gone");
}

bool PostgresqlByHand::acquire() {
  return run("acquire") == 1;
}

void PostgresqlByHand::release() {
  if (run("release") != 1) throw std::runtime_error("the lease is not where it should be");
}

void PostgresqlByHand::execute(const std::string& statement) {
  check(PQexec(connection_.get(), statement.c_str()));
}

void PostgresqlByHand::wait_for_notification() {
  for (;;) {
    PGnotify* const notification = PQnotifies(connection_.get());
    PQfreemem(notification);
    if (notification != nullptr) return;
    pollfd socket{PQsocket(connection_.get()), POLLIN, 0};
    poll(&socket, 1, -1);
    if (PQconsumeInput(connection_.get()) == 0) throw std::runtime_error(PQerrorMessage(connection_.get()));
  }
}

void PostgresqlByHand::prepare(const char* name, const std::string& text) {
  constexpr std::array<Oid, 2> kTexts = {25, 25};
  check(PQprepare(connection_.get(), name, text.c_str(), 2, kTexts.data()));
}

int PostgresqlByHand::run(const char* name) {
  const std::array<const char*, 2> values = {"by hand", owner_.c_str()};
  return check(PQexecPrepared(connection_.get(), name, 2, values.data(), nullptr, nullptr, 0));
}

int PostgresqlByHand::check(PGresult* result) {
  const ExecStatusType status = PQresultStatus(result);
  const int rows = PQntuples(result);
  PQclear(result);
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
    throw std::runtime_error(PQerrorMessage(connection_.get()));
  return rows;
}

}  // namespace mortise::bench
