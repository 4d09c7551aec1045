#include "peers/postgresql_cluster.hpp"

#include <postgresql/libpq-fe.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <stdexcept>

namespace mortise::bench {

namespace {

// Debian keeps the servers of each version apart, and none of them in the PATH.
std::filesystem::path programs() {
  const std::filesystem::path versions = "/usr/lib/postgresql";
  if (std::filesystem::exists(versions)) {
    for (const auto& version : std::filesystem::directory_iterator(versions)) {
      if (std::filesystem::exists(version.path() / "bin/initdb")) return version.path() / "bin";
    }
  }
  throw std::runtime_error("there is no PostgreSQL server (package postgresql)");
}

}  // namespace

PostgresqlCluster& PostgresqlCluster::instance() {
  static PostgresqlCluster cluster;
  return cluster;
}

std::string PostgresqlCluster::url() const {
  return "postgresql://bench@/postgres?host=" + home_.path();
}

PostgresqlCluster::PostgresqlCluster() {
  const std::filesystem::path bin = programs();
  const std::string data = home_.path() + "/data";
  give_to_unprivileged(home_.path());
  Server({bin / "initdb", "--pgdata=" + data, "--auth=trust", "--username=bench", "--no-locale", "--no-sync",
          "--encoding=UTF8"})
      .wait_for_end();
  server_ = std::make_unique<Server>(
      std::vector<std::string>{bin / "postgres", "-D", data, "-k", home_.path(), "-c", "listen_addresses="},
      SIGQUIT);
  server_->wait_until([this] { return PQping(url().c_str()) == PQPING_OK; });
}

}  // namespace mortise::bench
