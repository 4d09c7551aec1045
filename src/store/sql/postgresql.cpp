// Leases in PostgreSQL.
#include <atomic>
#include <optional>
#include <string>
#include <utility>

#include "store/sql/backoff.hpp"
#include "store/sql/database.hpp"
#include "store/sql/deaf_ear.hpp"
#include "store/sql/postgresql_connection.hpp"
#include "store/sql/postgresql_listener.hpp"
#include "store/sql/postgresql_pool.hpp"
#include "store/sql/statements.hpp"

namespace mortise::sql {

namespace {

using Kind = PostgresqlFailure::Kind;

// clock_timestamp(): the time now, not that of the beginning of the statement. A sequence never goes back,
// and is asked when the row is ours: after the statement of whoever had it before had ended.
constexpr Dialect kDialect = {
    .now = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint",
    .now_up = "ceil(extract(epoch FROM clock_timestamp()) * 1000)::bigint",
    .fence = "nextval(':fences')",
    .parameter = "$",
};

// Somebody who is about to take over a row may wait for one that is swept, but never the other way round.
constexpr std::string_view kSweep =
    "DELETE FROM :table WHERE :key IN (SELECT :key FROM :table WHERE :key > ?1 AND :key <= ?2 "
    "AND :expires <= :now FOR UPDATE SKIP LOCKED) AND :expires <= :now RETURNING 1";
constexpr std::string_view kExtendReturningExpiry =
    "UPDATE :table SET :expires = :up + ?3 WHERE :key = ?1 AND :owner = ?2 AND :expires > :now "
    "RETURNING :expires";
constexpr std::string_view kCreateTable =
    "CREATE TABLE IF NOT EXISTS :table (:key text COLLATE \"C\" PRIMARY KEY, :owner text NOT NULL, "
    ":expires bigint)";
// Above every number that an earlier sequence of the name may have given.
constexpr std::string_view kFirstFence = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

class PostgresqlDatabase final : public Database {
 public:
  explicit PostgresqlDatabase(Options options)
      : options_(std::move(options)),
        texts_(options_, kDialect),
        pool_(PostgresqlPool::of(options_)),
        prepares_(options_.prepare) {
    check_location(options_);
    texts_[Query::sweep] = texts_.filled_in(kSweep);
    if (options_.notify) notify_waiters();
    attempt([this](PostgresqlConnection& connection, sys::TimePoint deadline) {
      prepare_table(connection, deadline);
      return std::vector<Row>();
    });
  }

  Answer run(Query query, std::span<const Parameter> parameters) override {
    return attempt([&](PostgresqlConnection& connection, sys::TimePoint deadline) {
      return connection.run(query, texts_[query], parameters, prepares_, deadline);
    });
  }

  std::unique_ptr<Ear> listen(const std::string& key) override;

 private:
  void notify_waiters();
  template <class Operation>
  Answer attempt(const Operation& operation);
  void prepare_table(PostgresqlConnection& connection, sys::TimePoint deadline);
  void create_table(PostgresqlConnection& connection, sys::TimePoint deadline);
  void check_table(PostgresqlConnection& connection, sys::TimePoint deadline);

  const Options options_;
  Statements texts_;
  const std::shared_ptr<PostgresqlPool> pool_;
  std::atomic<bool> prepares_;  // until a proxy is found to lie in between
};

// In the same statement, so that whoever is woken sees what it did.
void PostgresqlDatabase::notify_waiters() {
  const std::string tell =
      "pg_notify('" + std::string(PostgresqlListener::kChannel) + "', '" + options_.table + "/' || $1)";
  texts_[Query::release] = "WITH gone AS (" + texts_[Query::release] + ") SELECT " + tell + " FROM gone";
  texts_[Query::end] =
      "WITH gone AS (" + texts_[Query::end] + " AS time_left) SELECT gone.*, " + tell + " FROM gone";
  // Waiters sleep until the expiry that they saw.
  texts_[Query::extend] =
      texts_.filled_in("WITH before AS (SELECT :expires FROM :table WHERE :key = $1), changed AS (") +
      texts_.filled_in(kExtendReturningExpiry) +
      texts_.filled_in(") SELECT CASE WHEN changed.:expires < before.:expires THEN " + tell +
                       " END FROM changed, before");
}

[[noreturn]] void give_up(const PostgresqlFailure& failed, bool is_in_doubt) {
  const char* const doubt = is_in_doubt ? "; it may have been carried out, or not" : "";
  throw StoreError(failed.code, failed.sentence + doubt);
}

// Again, until the time is up: nothing that was carried out before does harm when it is carried out twice.
template <class Operation>
Answer PostgresqlDatabase::attempt(const Operation& operation) {
  const sys::TimePoint deadline = sys::deadline_after(options_.timeout);
  Backoff backoff(std::chrono::milliseconds(1), std::chrono::milliseconds(100));
  Answer answer;
  std::optional<PostgresqlFailure> earlier;
  for (;;) {
    try {
      answer.rows = pool_->lend(deadline, operation);
      return answer;
    } catch (const PostgresqlFailure& failed) {
      if (failed.kind == Kind::permanent) throw StoreError(failed.code, failed.sentence);
      // That the time is up is less of an answer than what came before.
      if (sys::Clock::now() < deadline || !earlier) earlier = failed;
      if (failed.kind == Kind::unnamed) prepares_ = false;
      if (failed.kind == Kind::lost) answer.is_second = true;
    }
    if (sys::Clock::now() >= deadline) give_up(*earlier, answer.is_second);
    backoff.pause(deadline);
  }
}

void PostgresqlDatabase::prepare_table(PostgresqlConnection& connection, sys::TimePoint deadline) {
  const std::string fences = texts_.filled_in("SELECT last_value FROM :fences");
  const std::string table = texts_.filled_in("SELECT :key, :owner, :expires FROM :table LIMIT 0");
  try {
    connection.run(table, deadline);
    connection.run(fences, deadline);
  } catch (const PostgresqlFailure& failed) {
    constexpr std::string_view kNoSuchTable = "42P01";
    if (failed.state != kNoSuchTable || !options_.create) throw;
    create_table(connection, deadline);
  }
  check_table(connection, deadline);
}

// Who creates the same at the same time makes PostgreSQL fail now and then, IF NOT EXISTS or not.
void PostgresqlDatabase::create_table(PostgresqlConnection& connection, sys::TimePoint deadline) {
  try {
    connection.run(texts_.filled_in(kCreateTable), deadline);
    const std::string first = connection.run(std::string(kFirstFence), deadline).at(0)[0];
    connection.run(texts_.filled_in("CREATE SEQUENCE IF NOT EXISTS :fences START " + first), deadline);
  } catch (PostgresqlFailure& failed) {
    if (failed.state == "23505" || failed.state == "42P07" || failed.state == "42710")
      failed.kind = Kind::again;
    throw;
  }
}

// One that somebody else made.
void PostgresqlDatabase::check_table(PostgresqlConnection& connection, sys::TimePoint deadline) {
  const std::string table = quoted_name(options_.schema, options_.table);
  const auto rows = connection.run(
      "SELECT a.attname, t.typname, coalesce(c.collisdeterministic, true) FROM pg_attribute a "
      "JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_collation c ON c.oid = a.attcollation "
      "WHERE a.attrelid = '" +
          table + "'::regclass AND a.attnum > 0",
      deadline);
  for (const Row& row : rows) {
    const bool is_time = row[0] == options_.expires_column;
    const bool is_name = row[0] == options_.key_column || row[0] == options_.owner_column;
    const bool is_text = row[1] == "text" || row[1] == "varchar";
    if ((is_time && row[1] != "int8") || (is_name && !is_text) || (is_name && row[2] != "t")) {
      throw StoreError(StoreErrc::incompatible,
                       options_.url + ": the column " + row[0] + " of " + table + " is of the type " +
                           row[1] +
                           "; the key and the owner must be text or varchar that compare byte by byte, and "
                           "the expiry bigint");
    }
  }
}

std::unique_ptr<Ear> PostgresqlDatabase::listen(const std::string& key) {
  if (!options_.notify) return std::make_unique<DeafEar>();
  return pool_->listener().ear(options_.table + "/" + key);
}

}  // namespace

std::unique_ptr<Database> open_postgresql(const Options& options) {
  return std::make_unique<PostgresqlDatabase>(options);
}

}  // namespace mortise::sql
