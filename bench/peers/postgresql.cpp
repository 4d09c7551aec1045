// PostgreSQL over a unix socket: an advisory lock of the session, and a row of a table.
#include <postgresql/libpq-fe.h>

#include <memory>

#include "peers/peer.hpp"
#include "peers/postgresql_cluster.hpp"

namespace mortise::bench {

namespace {

struct Finish {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};

class Connection {
 public:
  void open() {
    connection_.reset(PQconnectdb(PostgresqlCluster::instance().url().c_str()));
    must(PQstatus(connection_.get()) == CONNECTION_OK, "PQconnectdb");
  }
  void run(const std::string& command) { check(PQexec(connection_.get(), command.c_str())); }
  void prepare(const char* name, const std::string& command) {
    check(PQprepare(connection_.get(), name, command.c_str(), 0, nullptr));
  }
  // The rows that were changed.
  int run_prepared(const char* name) {
    return check(PQexecPrepared(connection_.get(), name, 0, nullptr, nullptr, nullptr, 0));
  }

 private:
  int check(PGresult* answer) {
    const ExecStatusType status = PQresultStatus(answer);
    const std::string rows = PQcmdTuples(answer);
    PQclear(answer);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
      throw std::runtime_error(PQerrorMessage(connection_.get()));
    return rows.empty() ? 0 : std::stoi(rows);
  }
  std::unique_ptr<PGconn, Finish> connection_;
};

class AdvisoryLock : public Exclusion {
 public:
  AdvisoryLock() { PostgresqlCluster::instance(); }
  void enter() override {
    connection_.open();
    connection_.prepare("acquire", "SELECT pg_advisory_lock(4711)");
    connection_.prepare("release", "SELECT pg_advisory_unlock(4711)");
  }
  void acquire() override { connection_.run_prepared("acquire"); }
  void release() override { connection_.run_prepared("release"); }

 private:
  Connection connection_;
};

class PostgresqlRow : public Exclusion {
 public:
  PostgresqlRow() {
    Connection connection;
    connection.open();
    connection.run(
        "CREATE TABLE IF NOT EXISTS lease (key text PRIMARY KEY, owner bigint, expiry timestamptz)");
  }
  void enter() override {
    const std::string key = std::string("'") + kUsualKey + "'";
    connection_.open();
    connection_.prepare("acquire",
                        "INSERT INTO lease AS l VALUES (" + key +
                            ", 1, now() + interval '30 s') ON CONFLICT (key) DO UPDATE SET owner = 1, "
                            "expiry = excluded.expiry WHERE l.expiry < now()");
    connection_.prepare("release", "DELETE FROM lease WHERE key = " + key + " AND owner = 1");
  }
  // Asks again at once when it was busy.
  void acquire() override {
    while (connection_.run_prepared("acquire") == 0) continue;
  }
  void release() override { connection_.run_prepared("release"); }

 private:
  Connection connection_;
};

const PeerEntry kAdvisory("PostgreSQL advisory lock", make_peer<AdvisoryLock>);
const PeerEntry kRow("PostgreSQL row", make_peer<PostgresqlRow>);

}  // namespace

}  // namespace mortise::bench
