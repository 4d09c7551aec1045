// What the SQL store adds to the database's own time: beside the same statements by hand, beside a million
// rows of leases that have expired, and from a holder to a waiter.
#include <chrono>
#include <mortise/mortise.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "peers/postgresql_cluster.hpp"
#include "sql/hand_off.hpp"
#include "sql/postgresql_by_hand.hpp"
#include "sql/sqlite_by_hand.hpp"
#include "support/comparison.hpp"
#include "support/options.hpp"
#include "support/report.hpp"
#include "support/temporary.hpp"

namespace mortise::bench {

namespace {

using namespace std::chrono_literals;

Lock lock_in(const std::string& url) {
  return lock("uncontended", 30s, open_store(url));
}

void acquire_and_release(Lock& lock) {
  if (!lock.acquire_immediately() || !lock.release()) throw std::runtime_error("somebody else has the key");
}

template <class First, class Second>
Comparison compare(const Options& options, const First& first, const Second& second) {
  return {2, options.choose(5U, 3U, 1U), options.choose(3000U, 1000U, 5U),
          [&](std::size_t contestant) { return contestant == 0 ? time_of(first) : time_of(second); }};
}

template <class ByHand>
void measure_beside_hand(const std::string& where, Lock lock, ByHand& hand, const Options& options,
                         Report& figures) {
  const Comparison comparison = compare(
      options, [&] { acquire_and_release(lock); },
      [&] {
        hand.acquire();
        hand.release();
      });
  figures.add({"acquire and release, " + where + ", mortise, p50", "µs", comparison.percentile(0, 50)});
  figures.add({"acquire and release, " + where + ", by hand, p50", "µs", comparison.percentile(1, 50)});
  figures.add({"acquire and release, " + where + ", mortise / by hand, p50", "x", comparison.ratio(0, 1, 50),
               at_most(1.2)});
}

void measure_sqlite(const std::string& where, const std::string& directory, const Options& options,
                    Report& figures) {
  const std::string file = directory + "/locks.db";
  Lock lock = lock_in("sqlite:" + file);
  SqliteByHand hand(file);
  measure_beside_hand(where, std::move(lock), hand, options, figures);
}

// The rows are there all the time: those that are removed meanwhile are few.
void report_expired_rows(const std::string& where, Lock beside_many, Lock beside_none, const Options& options,
                         Report& figures) {
  const Comparison comparison = compare(
      options, [&] { acquire_and_release(beside_many); }, [&] { acquire_and_release(beside_none); });
  figures.add({"acquire and release, " + where + ", beside a million expired rows / beside none, p50", "x",
               comparison.ratio(0, 1, 50), at_most(1.1)});
}

void measure_sqlite_with_expired_rows(const Options& options, Report& figures) {
  const TemporaryDirectory directory;
  const std::string many = directory.path() + "/many.db";
  Lock beside_many = lock_in("sqlite:" + many);
  SqliteByHand(many).execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " +
                             std::to_string(options.choose(1'000'000U, 1'000'000U, 10U)) +
                             ") INSERT INTO locks SELECT 'gone ' || i, 'x', 1 FROM n");
  report_expired_rows("SQLite", std::move(beside_many), lock_in("sqlite:" + directory.path() + "/none.db"),
                      options, figures);
}

void measure_postgresql_with_expired_rows(const std::string& url, const Options& options, Report& figures) {
  Lock beside_many = lock_in(url + "&table=many");
  PostgresqlByHand(url).execute("INSERT INTO many SELECT 'gone ' || i, 'x', 1 FROM generate_series(1, " +
                                std::to_string(options.choose(1'000'000U, 1'000'000U, 10U)) + ") AS i");
  report_expired_rows("PostgreSQL", std::move(beside_many), lock_in(url + "&table=none"), options, figures);
}

void measure_postgresql(const Options& options, Report& figures) {
  const std::string url = PostgresqlCluster::instance().url();
  Lock lock = lock_in(url);
  PostgresqlByHand hand(url);
  measure_beside_hand("PostgreSQL", std::move(lock), hand, options, figures);
  measure_sql_hand_off(url, options, figures);
  measure_postgresql_with_expired_rows(url, options, figures);
}

void measure(const Options& options, Report& figures) {
  measure_sqlite("SQLite in memory", TemporaryDirectory().path(), options, figures);
  measure_sqlite("SQLite on a disk", TemporaryDirectory(kOnDisk).path(), options, figures);
  measure_sqlite_with_expired_rows(options, figures);
  measure_postgresql(options, figures);
}

}  // namespace

}  // namespace mortise::bench

int main(int argc, char** argv) {
  return mortise::bench::run("sql", argc, argv, mortise::bench::measure);
}
