#include "stores/sql/pooling_proxy.hpp"

#include <signal.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "stores/sql/server_program.hpp"
#include "support/eventually.hpp"

namespace mortise::test {

bool PoolingProxy::is_installed() {
  return !std::string_view(MORTISE_PGBOUNCER).empty();
}

PoolingProxy::PoolingProxy(const PostgresqlServer& server, unsigned sessions) {
  give_to_server_user(directory_.path());
  const std::string settings = directory_.file("settings");
  std::ofstream(settings) << "[databases]\npostgres = user=postgres host="
                          << server.directory().path().string()
                          << "\n[pgbouncer]\nlisten_addr =\nlisten_port = 5432\nunix_socket_dir = "
                          << directory_.path().string() << "\nauth_type = any\npool_mode = transaction\n"
                          << "max_client_conn = 400\ndefault_pool_size = " << sessions << "\n";
  pid_ = start_server_program({MORTISE_PGBOUNCER, settings}, directory_.file("log"));
  if (!eventually([&] { return std::filesystem::exists(directory_.file(".s.PGSQL.5432")); }))
    throw std::runtime_error("PgBouncer does not start");
}

PoolingProxy::~PoolingProxy() {
  kill(pid_, SIGKILL);
  wait_for_end(pid_);
}

std::string PoolingProxy::url(std::string_view options) const {
  return "postgresql://postgres@/postgres?host=" + directory_.path().string() + "&" + std::string(options);
}

}  // namespace mortise::test
