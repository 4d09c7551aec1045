// A test on the PostgreSQL server that the tests of its program share.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>

#include "mortise/mortise.hpp"
#include "stores/sql/shared_server.hpp"
#include "support/watchdog.hpp"

namespace mortise::test {

inline const auto* const kServer = SharedServer::add();

class PostgresqlStore : public testing::Test {
 protected:
  static PostgresqlServer& server() { return SharedServer::get(); }
  static std::string execute(const std::string& statement) { return server().execute(statement); }
  static Lock handle(const std::string& url, LockKey key, Ttl ttl = std::chrono::seconds(20)) {
    return lock(std::move(key), ttl, open_store(url));
  }
  static void terminate_all_backends() {
    execute(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
        "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'");
  }

  // On a table of this test.
  [[nodiscard]] std::string url(const std::string& options = "") const {
    return server().url(options_ + "&timeout=20s" + options);
  }
  [[nodiscard]] std::string impatient_url() const { return server().url(options_ + "&timeout=400ms"); }
  // The options without which it would not be.
  [[nodiscard]] const std::string& of_this_table() const { return options_; }
  [[nodiscard]] const std::string& table() const { return table_; }

  // A setting for all connections made from now on, until it is reset or the test ends.
  void set(const std::string& setting) {
    execute("ALTER DATABASE postgres SET " + setting);
    is_set_ = true;
  }
  void reset_settings() {
    execute("BEGIN READ WRITE; ALTER DATABASE postgres RESET ALL; COMMIT");
    is_set_ = false;
  }
  void TearDown() override {
    if (is_set_) reset_settings();
  }

 private:
  static int next_number() {
    static int last = 0;
    return ++last;
  }

  Watchdog watchdog_;
  const std::string table_ = "of_test_" + std::to_string(next_number());
  const std::string options_ = "table=" + table_;
  bool is_set_ = false;
};

}  // namespace mortise::test
