// What the SQL store adds to the database's own time: beside the same statements, prepared, by the drivers'
// own C interfaces. PostgreSQL is measured when MORTISE_BENCH_POSTGRESQL names one.
#include <libpq-fe.h>
#include <sqlite3.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mortise/mortise.hpp>
#include <mortise/sql_lock_store.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "support/comparison.hpp"
#include "support/options.hpp"
#include "support/report.hpp"

namespace mortise::bench {

namespace {

using namespace std::chrono_literals;

class TemporaryPlace {
 public:
  explicit TemporaryPlace(const std::string& directory) : path_(directory + "/mortise-bench-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("cannot make a directory in " + directory);
  }
  TemporaryPlace(const TemporaryPlace&) = delete;
  TemporaryPlace& operator=(const TemporaryPlace&) = delete;
  ~TemporaryPlace() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string file() const { return path_ + "/locks.db"; }

 private:
  std::string path_;
};

class SqliteByHand {
 public:
  explicit SqliteByHand(const std::string& file) {
    sqlite3_open(file.c_str(), &connection_);
    execute("PRAGMA synchronous = NORMAL");
    sqlite3_create_function(connection_, "clock", 0, SQLITE_UTF8, nullptr, now, nullptr, nullptr);
    for (const char* text :
         {"BEGIN IMMEDIATE",
          "INSERT INTO locks AS held VALUES ('by hand', 'x', (clock() + 999) / 1000 + 30000) ON CONFLICT "
          "(key) DO "
          "UPDATE SET owner = 'x', expires_at = (clock() + 999) / 1000 + 30000 WHERE held.expires_at <= "
          "clock() / "
          "1000 OR held.owner = 'x' RETURNING 1",
          "INSERT INTO locks_fences VALUES (1, clock()) ON CONFLICT (id) DO UPDATE SET last = max(last + 1, "
          "clock()) RETURNING last",
          "COMMIT",
          "DELETE FROM locks WHERE key = 'by hand' AND owner = 'x' AND expires_at > clock() / 1000 RETURNING "
          "1"}) {
      sqlite3_stmt* statement = nullptr;
      if (sqlite3_prepare_v3(connection_, text, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) !=
          SQLITE_OK)
        throw std::runtime_error(sqlite3_errmsg(connection_));
      statements_.push_back(statement);
    }
  }
  SqliteByHand(const SqliteByHand&) = delete;
  SqliteByHand& operator=(const SqliteByHand&) = delete;
  ~SqliteByHand() {
    for (sqlite3_stmt* statement : statements_) sqlite3_finalize(statement);
    sqlite3_close(connection_);
  }

  void acquire_and_release() {
    for (sqlite3_stmt* statement : statements_) {
      while (sqlite3_step(statement) == SQLITE_ROW) sqlite3_column_int64(statement, 0);
      if (sqlite3_reset(statement) != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(connection_));
    }
  }
  void execute(const char* text) {
    if (sqlite3_exec(connection_, text, nullptr, nullptr, nullptr) != SQLITE_OK)
      throw std::runtime_error(sqlite3_errmsg(connection_));
  }

 private:
  static void now(sqlite3_context* context, int /*count*/, sqlite3_value** /*values*/) {
    const auto time = std::chrono::system_clock::now().time_since_epoch();
    sqlite3_result_int64(context, std::chrono::duration_cast<std::chrono::microseconds>(time).count());
  }
  sqlite3* connection_ = nullptr;
  std::vector<sqlite3_stmt*> statements_;
};

template <class Work>
Clock::duration time_of(const Work& work) {
  const auto start = Clock::now();
  work();
  return Clock::now() - start;
}

void acquire_and_release(Lock& lock) {
  if (!lock.acquire_immediately() || !lock.release()) throw std::runtime_error("somebody else has the key");
}

template <class ByHand>
Comparison compare(Lock& lock, ByHand& hand, const Options& options) {
  return Comparison(2, options.choose(5U, 3U, 1U), options.choose(5000U, 1000U, 5U),
                    [&](std::size_t contestant) {
                      return time_of([&] {
                        if (contestant == 0) {
                          acquire_and_release(lock);
                        } else {
                          hand.acquire_and_release();
                        }
                      });
                    });
}

void report(Report& report, const std::string& where, const Comparison& comparison) {
  report.add({where + ", mortise, p50", "µs", comparison.percentile(0, 50)});
  report.add({where + ", by hand, p50", "µs", comparison.percentile(1, 50)});
  report.add({where + ", mortise / by hand, p50", "x", comparison.ratio(0, 1, 50), at_most(1.2)});
}

void measure_sqlite(const std::string& name, const std::string& directory, const Options& options,
                    Report& figures) {
  const TemporaryPlace place(directory);
  Lock lock("uncontended", 30s, open_store("sqlite:" + place.file()));
  acquire_and_release(lock);
  SqliteByHand hand(place.file());
  report(figures, "acquire and release, SQLite on " + name, compare(lock, hand, options));
}

// The rows are there all the time: those that are removed meanwhile are few.
void measure_expired_rows(const Options& options, Report& figures) {
  const TemporaryPlace empty("/dev/shm");
  const TemporaryPlace full("/dev/shm");
  std::vector<Lock> locks;
  locks.emplace_back("uncontended", 30s, open_store("sqlite:" + full.file()));
  locks.emplace_back("uncontended", 30s, open_store("sqlite:" + empty.file()));
  SqliteByHand(full.file())
      .execute(
          options.choose("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) "
                         "INSERT INTO locks SELECT 'gone ' || i, 'x', 1 FROM n",
                         "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) "
                         "INSERT INTO locks SELECT 'gone ' || i, 'x', 1 FROM n",
                         "INSERT INTO locks VALUES ('gone', 'x', 1)"));
  const Comparison comparison(
      2, options.choose(5U, 3U, 1U), options.choose(5000U, 1000U, 5U),
      [&](std::size_t contestant) { return time_of([&] { acquire_and_release(locks[contestant]); }); });
  figures.add({"acquire and release beside a million expired rows / beside none, p50", "x",
               comparison.ratio(0, 1, 50), at_most(1.1)});
}

class PostgresqlByHand {
 public:
  explicit PostgresqlByHand(const std::string& url) : connection_(PQconnectdb(url.c_str()), PQfinish) {
    const std::string now = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    const std::string up = "ceil(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    prepare("acquire", "INSERT INTO mortise_bench AS held VALUES ($1, $2, " + up +
                           " + 30000) ON CONFLICT (key) DO UPDATE SET owner = $2, expires_at = " + up +
                           " + 30000 WHERE held.expires_at <= " + now +
                           " OR held.owner = $2 RETURNING nextval('mortise_bench_fences')");
    prepare("release",
            "WITH gone AS (DELETE FROM mortise_bench WHERE key = $1 AND owner = $2 AND expires_at > " + now +
                " RETURNING 1) SELECT pg_notify('mortise', 'mortise_bench/' || $1) FROM gone");
  }
  void acquire_and_release() {
    execute("acquire");
    execute("release");
  }
  void round_trip() { check(PQexec(connection_.get(), "SELECT 1")); }

 private:
  void check(PGresult* result) {
    const ExecStatusType status = PQresultStatus(result);
    PQclear(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
      throw std::runtime_error(PQerrorMessage(connection_.get()));
  }
  void prepare(const char* name, const std::string& text) {
    constexpr std::array<Oid, 2> kTexts = {25, 25};
    check(PQprepare(connection_.get(), name, text.c_str(), 2, kTexts.data()));
  }
  void execute(const char* name) {
    constexpr std::array<const char*, 2> kValues = {"by hand", "x"};
    check(PQexecPrepared(connection_.get(), name, 2, kValues.data(), nullptr, nullptr, 0));
  }
  std::unique_ptr<PGconn, void (*)(PGconn*)> connection_;
};

// From the release to the grant of a waiter that sleeps, beside a round trip to the server.
void measure_hand_off(const std::string& url, PostgresqlByHand& hand, const Options& options,
                      Report& figures) {
  Lock holder("hand-off", 1h, open_store(url));
  Lock waiter("hand-off", 1h, open_store(url));
  const Comparison comparison(2, options.choose(5U, 3U, 1U), options.choose(200U, 50U, 3U),
                              [&](std::size_t contestant) {
                                if (contestant == 1) return time_of([&] { hand.round_trip(); });
                                if (!holder.acquire_immediately())
                                  throw std::runtime_error("somebody else has the key");
                                Clock::time_point granted;
                                std::jthread waiting([&] {
                                  if (waiter.acquire({.timeout = 60s, .retry_delay = 60s}))
                                    granted = Clock::now();
                                });
                                std::this_thread::sleep_for(50ms);
                                const auto start = Clock::now();
                                holder.release();
                                waiting.join();
                                waiter.release();
                                return granted - start;
                              });
  figures.add({"hand-off, PostgreSQL, p50", "µs", comparison.percentile(0, 50)});
  figures.add({"round trip, PostgreSQL, p50", "µs", comparison.percentile(1, 50)});
  figures.add({"hand-off / round trip, PostgreSQL, p50", "x", comparison.ratio(0, 1, 50), at_most(3)});
}

void measure(const Options& options, Report& figures) {
  measure_sqlite("/dev/shm", "/dev/shm", options, figures);
  measure_sqlite("a disk", "/var/tmp", options, figures);
  measure_expired_rows(options, figures);
  const char* server = std::getenv("MORTISE_BENCH_POSTGRESQL");
  if (server == nullptr) return;
  const std::string location = server;
  const std::string url =
      location + (location.find('?') == std::string::npos ? "?" : "&") + "table=mortise_bench";
  Lock lock("uncontended", 30s, open_store(url));
  acquire_and_release(lock);
  PostgresqlByHand hand(location);
  report(figures, "acquire and release, PostgreSQL", compare(lock, hand, options));
  measure_hand_off(url, hand, options, figures);
}

}  // namespace

}  // namespace mortise::bench

int main(int argc, char** argv) {
  return mortise::bench::run("sql", argc, argv, mortise::bench::measure);
}
