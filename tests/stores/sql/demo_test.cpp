// tools/demo with its locks in a database: each invoice is charged once, although workers are killed.
#include <cstdlib>
#include <string>

#include "stores/sql/shared_server.hpp"
#include "support/temporary_directory.hpp"

namespace mortise {
namespace {

const auto* const kServer = test::SharedServer::add();

int run_demo(const std::string& store) {
  setenv("MORTISE_STORE", store.c_str(), 1);
  return std::system(MORTISE_DEMO);  // NOLINT(cert-env33-c)
}

TEST(Demo, ChargesEachInvoiceOnceWithSqlite) {
  const test::TemporaryDirectory directory;
  EXPECT_EQ(run_demo("sqlite:" + directory.file("locks.db")), 0);
}

TEST(Demo, ChargesEachInvoiceOnceWithPostgresql) {
  EXPECT_EQ(run_demo(test::SharedServer::url_of_new_table()), 0);
}

}  // namespace
}  // namespace mortise
