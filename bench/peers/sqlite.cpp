// A row of an SQLite database in memory-backed files: inserted to acquire, deleted to release, a transaction
// each.
#include <sqlite3.h>

#include <array>

#include "peers/peer.hpp"

namespace mortise::bench {

namespace {

class SqliteRow : public Exclusion {
 public:
  SqliteRow() {
    connect();
    run(sqlite("PRAGMA journal_mode = WAL"));
    run(sqlite("CREATE TABLE lease (key TEXT PRIMARY KEY, owner INTEGER, expiry INTEGER) WITHOUT ROWID"));
    disconnect();
  }
  SqliteRow(const SqliteRow&) = delete;
  SqliteRow& operator=(const SqliteRow&) = delete;
  ~SqliteRow() override {
    if (connection_ != nullptr) disconnect();
  }

  void enter() override {
    connect();
    const std::string row = std::string(" WHERE key = '") + kUsualKey + "'";
    acquire_ =
        sqlite(std::string("INSERT INTO lease VALUES ('") + kUsualKey +
               "', 1, unixepoch() + 30) ON CONFLICT DO UPDATE SET owner = 1 WHERE expiry < unixepoch()");
    release_ = sqlite("DELETE FROM lease" + row + " AND owner = 1");
  }
  // Looks again when it was busy: SQLite wakes nobody.
  void acquire() override {
    do run(acquire_);
    while (sqlite3_changes(connection_) == 0);
  }
  void release() override { run(release_); }

 private:
  void connect() {
    constexpr int kPatience = 60'000;  // in milliseconds
    must(sqlite3_open((home_.path() + "/leases").c_str(), &connection_) == SQLITE_OK, "sqlite3_open");
    sqlite3_busy_timeout(connection_, kPatience);
  }
  void disconnect() {
    for (sqlite3_stmt* statement : {acquire_, release_}) sqlite3_finalize(statement);
    sqlite3_close_v2(connection_);
    connection_ = nullptr;
  }
  sqlite3_stmt* sqlite(const std::string& text) {
    sqlite3_stmt* statement = nullptr;
    must(sqlite3_prepare_v2(connection_, text.c_str(), -1, &statement, nullptr) == SQLITE_OK,
         "sqlite3_prepare");
    return statement;
  }
  static void run(sqlite3_stmt* statement) {
    const int answer = sqlite3_step(statement);
    must(answer == SQLITE_DONE || answer == SQLITE_ROW, "sqlite3_step");
    sqlite3_reset(statement);
  }

  TemporaryDirectory home_;
  sqlite3* connection_ = nullptr;
  sqlite3_stmt* acquire_ = nullptr;
  sqlite3_stmt* release_ = nullptr;
};

const PeerEntry kEntry("SQLite row", make_peer<SqliteRow>);

}  // namespace

}  // namespace mortise::bench
