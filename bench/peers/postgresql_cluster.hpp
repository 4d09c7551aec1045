// A cluster of PostgreSQL that only this program uses, from its first use to the program's end.
#pragma once

#include <memory>
#include <string>

#include "peers/server.hpp"
#include "support/temporary.hpp"

namespace mortise::bench {

class PostgresqlCluster {
 public:
  // Throws when the server is not installed.
  static PostgresqlCluster& instance();
  [[nodiscard]] std::string url() const;

 private:
  PostgresqlCluster();
  TemporaryDirectory home_;
  std::unique_ptr<Server> server_;
};

}  // namespace mortise::bench
