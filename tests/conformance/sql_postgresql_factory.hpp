// PostgreSQL, for the conformance suites: a table of its own for each test.
#pragma once

#include "conformance/conformance.hpp"
#include "mortise/sql_lock_store.hpp"
#include "stores/sql/shared_server.hpp"

namespace mortise::conformance {

inline StoreFactory postgresql_factory() {
  return {.name = "Postgresql",
          .make =
              [] {
                const std::string url = test::SharedServer::url_of_new_table("&timeout=20s");
                // One that stays keeps the pool, or every handle would connect anew.
                return [url, first = std::make_shared<SqlLockStore>(url)] {
                  return std::make_shared<SqlLockStore>(url);
                };
              },
          .wakes_waiters = true,
          .shared_between_processes = true};
}

}  // namespace mortise::conformance
