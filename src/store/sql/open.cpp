#include "store/sql/open.hpp"

#include <stdexcept>

#include "mortise/sql_lock_store.hpp"
#include "mortise/store_backend.hpp"
#include "store/sql/options.hpp"
#include "store/sql/view.hpp"
#include "store/url.hpp"

namespace mortise::sql {

namespace {

struct Driver {
  Options (*parse)(std::string_view url);
  std::unique_ptr<Database> (*open)(const Options& options);
};

Driver driver_of(std::string_view url) {
  const store::Url parts = store::split_url(url);
#ifdef MORTISE_HAS_SQLITE
  if (parts.scheme == "sqlite") return {parse_sqlite_url, open_sqlite};
#endif
#ifdef MORTISE_HAS_POSTGRESQL
  if (parts.scheme == "postgresql" || parts.scheme == "postgres")
    return {parse_postgresql_url, open_postgresql};
#endif
  store::refuse_url(url, "this build has no such database");
}

[[maybe_unused]] const bool kIsRegistered = [] {
  const StoreBackend backend = {
      [](std::string_view url) -> std::shared_ptr<LockStore> { return std::make_shared<SqlLockStore>(url); },
      open_view, force_release};
#ifdef MORTISE_HAS_SQLITE
  register_store_backend("sqlite", backend);
#endif
#ifdef MORTISE_HAS_POSTGRESQL
  register_store_backend("postgresql", backend);
  register_store_backend("postgres", backend);
#endif
  return true;
}();

}  // namespace

std::unique_ptr<Database> open_database(std::string_view url) {
  const Driver driver = driver_of(url);
  return driver.open(driver.parse(url));
}

std::unique_ptr<Database> open_existing_database(std::string_view url) {
  const Driver driver = driver_of(url);
  Options options = driver.parse(url);
  options.create = false;
  return driver.open(options);
}

}  // namespace mortise::sql

// The linker is told to look for it, and so finds the registration above (see MortiseStore.cmake).
extern "C" const char mortise_sql_store = 0;  // NOLINT(readability-identifier-naming)
