// PostgreSQL, for the conformance suites: a table of its own for each test.
#pragma once

#include "conformance/conformance.hpp"
#include "mortise/sql_lock_store.hpp"
#include "stores/sql/shared_server.hpp"

namespace mortise::conformance {

// `pooled`: a store stays open meanwhile, so that not every handle must connect anew. It keeps the thread
// that listens for waiters a second longer than they wait.
inline StoreFactory postgresql_factory(bool pooled) {
  return {.name = "Postgresql",
          .make =
              [pooled] {
                const std::string url = test::SharedServer::url_of_new_table("&timeout=20s");
                return [url, first = pooled ? std::make_shared<SqlLockStore>(url) : nullptr] {
                  return std::make_shared<SqlLockStore>(url);
                };
              },
          .wakes_waiters = true,
          .shared_between_processes = true};
}

}  // namespace mortise::conformance
