// PostgreSQL, for the conformance suites: a table of its own for each test.
#pragma once

#include "conformance/conformance.hpp"
#include "mortise/sql_lock_store.hpp"
#include "stores/sql/shared_server.hpp"

namespace mortise::conformance {

// A store stays open meanwhile, so that not every handle must connect anew; but not beside the test that
// counts threads: the one that listens for waiters stays a second longer than they do, or until its store is
// closed.
inline StoreFactory postgresql_factory() {
  return {.name = "Postgresql",
          .make =
              [] {
                const std::string url = test::SharedServer::url_of_new_table("&timeout=20s");
                const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
                const bool pooled = !test.starts_with("C24_D8");
                return [url, first = pooled ? std::make_shared<SqlLockStore>(url) : nullptr] {
                  return std::make_shared<SqlLockStore>(url);
                };
              },
          .wakes_waiters = true,
          .shared_between_processes = true};
}

}  // namespace mortise::conformance
