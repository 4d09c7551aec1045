// What the store asks of SQLite, written by hand in its own interface, prepared.
#pragma once

#include <sqlite3.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

namespace mortise::bench {

class SqliteByHand {
 public:
  // A file in which the store has made its tables.
  explicit SqliteByHand(const std::string& file) {
    check(sqlite3_open(file.c_str(), &connection_));
    execute("PRAGMA synchronous = NORMAL");
    check(sqlite3_create_function(connection_, "clock", 0, SQLITE_UTF8, nullptr, now, nullptr, nullptr));
    for (const char* text :
         {"BEGIN IMMEDIATE",
          "INSERT INTO locks AS held VALUES ('by hand', 'x', (clock() + 999) / 1000 + 30000) "
          "ON CONFLICT (key) DO UPDATE SET owner = 'x', expires_at = (clock() + 999) / 1000 + 30000 "
          "WHERE held.expires_at <= clock() / 1000 OR held.owner = 'x' RETURNING 1",
          "INSERT INTO locks_fences VALUES (1, clock()) "
          "ON CONFLICT (id) DO UPDATE SET last = max(last + 1, clock()) RETURNING last",
          "COMMIT",
          "DELETE FROM locks WHERE key = 'by hand' AND owner = 'x' AND expires_at > clock() / 1000 "
          "RETURNING 1"}) {
      sqlite3_stmt* statement = nullptr;
      check(sqlite3_prepare_v3(connection_, text, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr));
      statements_.push_back(statement);
    }
  }
  SqliteByHand(const SqliteByHand&) = delete;
  SqliteByHand& operator=(const SqliteByHand&) = delete;
  ~SqliteByHand() {
    for (sqlite3_stmt* statement : statements_) sqlite3_finalize(statement);
    sqlite3_close(connection_);
  }

  void acquire() {
    for (std::size_t i = 0; i < kRelease; ++i) run(statements_[i]);
  }
  void release() { run(statements_[kRelease]); }
  void execute(const std::string& text) {
    check(sqlite3_exec(connection_, text.c_str(), nullptr, nullptr, nullptr));
  }

 private:
  static void now(sqlite3_context* context, int /*count*/, sqlite3_value** /*values*/) {
    const auto time = std::chrono::system_clock::now().time_since_epoch();
    sqlite3_result_int64(context, std::chrono::duration_cast<std::chrono::microseconds>(time).count());
  }
  void run(sqlite3_stmt* statement) {
    while (sqlite3_step(statement) == SQLITE_ROW) sqlite3_column_int64(statement, 0);
    check(sqlite3_reset(statement));
  }
  void check(int code) {
    if (code != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(connection_));
  }

  static constexpr std::size_t kRelease = 4;  // after the statements of an acquire
  sqlite3* connection_ = nullptr;
  std::vector<sqlite3_stmt*> statements_;
};

}  // namespace mortise::bench
