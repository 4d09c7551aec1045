// One PostgreSQL server for all the tests of a program.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "stores/sql/postgresql_server.hpp"

namespace mortise::test {

// Started before the first test and stopped after the last, and by nobody who is forked in between.
class SharedServer final : public testing::Environment {
 public:
  // At namespace scope of the program's test file: const auto* const kServer = SharedServer::add();
  static testing::Environment* add() { return testing::AddGlobalTestEnvironment(new SharedServer); }

  static PostgresqlServer& get() {
    if (!server()) throw std::runtime_error("there is no PostgreSQL server");
    return *server();
  }

  // The URL of a table that nobody else has.
  static std::string url_of_new_table(const std::string& options = "") {
    static int last = 0;
    return get().url("table=locks_" + std::to_string(++last) + options);
  }

 private:
  static std::unique_ptr<PostgresqlServer>& server() {
    static auto* const instance = new std::unique_ptr<PostgresqlServer>;
    return *instance;
  }
  void SetUp() override {
    if (!PostgresqlServer::is_installed()) GTEST_SKIP() << "PostgreSQL is not installed";
    server() = std::make_unique<PostgresqlServer>();
  }
  void TearDown() override { server().reset(); }
};

}  // namespace mortise::test
