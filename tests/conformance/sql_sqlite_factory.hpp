// SQLite, for the conformance suites: a file of its own for each test.
#pragma once

#include "conformance/conformance.hpp"
#include "mortise/sql_lock_store.hpp"
#include "support/temporary_directory.hpp"

namespace mortise::conformance {

inline StoreFactory sqlite_factory() {
  return {.name = "Sqlite",
          .make =
              [] {
                return [place = std::make_shared<test::TemporaryDirectory>()] {
                  struct Kept {  // the directory must outlive the store
                    std::shared_ptr<test::TemporaryDirectory> place;
                    SqlLockStore store{"sqlite:" + place->file("locks.db") + "?timeout=20s"};
                  };
                  const auto kept = std::make_shared<Kept>(place);
                  return std::shared_ptr<LockStore>(kept, &kept->store);
                };
              },
          .shared_between_processes = true};
}

}  // namespace mortise::conformance
