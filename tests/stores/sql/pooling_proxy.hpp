// PgBouncer between a store and its server.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "stores/sql/postgresql_server.hpp"
#include "support/temporary_directory.hpp"

namespace mortise::test {

// Lends its clients a session of the server for one transaction at a time. It dies with the thread that
// started it.
class PoolingProxy {
 public:
  static bool is_installed();

  // With so many sessions for all clients.
  PoolingProxy(const PostgresqlServer& server, unsigned sessions);
  PoolingProxy(const PoolingProxy&) = delete;
  PoolingProxy& operator=(const PoolingProxy&) = delete;
  ~PoolingProxy();

  [[nodiscard]] std::string url(std::string_view options) const;

 private:
  TemporaryDirectory directory_;
  pid_t pid_;
};

}  // namespace mortise::test
