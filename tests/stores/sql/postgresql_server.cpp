#include "stores/sql/postgresql_server.hpp"

#include <libpq-fe.h>
#include <signal.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "stores/sql/server_program.hpp"
#include "support/eventually.hpp"

namespace mortise::test {

namespace {

using namespace std::chrono_literals;

constexpr std::string_view kPrograms = MORTISE_POSTGRESQL_PROGRAMS;

std::string program(std::string_view name) {
  return std::string(kPrograms).append("/").append(name);
}

std::string contents_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<pid_t> children_of(pid_t pid) {
  std::istringstream list(
      contents_of("/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children"));
  return {std::istream_iterator<pid_t>(list), {}};
}

}  // namespace

bool PostgresqlServer::is_installed() {
  return !kPrograms.empty();
}

PostgresqlServer::PostgresqlServer() : PostgresqlServer(nullptr) {}

PostgresqlServer PostgresqlServer::standby_of(const PostgresqlServer& primary) {
  return PostgresqlServer(&primary);
}

PostgresqlServer::PostgresqlServer(const PostgresqlServer* primary) {
  give_to_server_user(directory_.path());
  const std::string data = "--pgdata=" + directory_.file("data");
  const std::string log = directory_.file("log");
  if (primary == nullptr) {
    run_server_program({program("initdb"), data, "--username=postgres", "--auth=trust", "--locale=C",
                        "--encoding=UTF8", "--no-sync", "--wal-segsize=1", "--no-instructions"},
                       log);
  } else {
    run_server_program({program("pg_basebackup"), data, "--dbname=" + primary->place(), "--checkpoint=fast",
                        "--write-recovery-conf", "--no-sync"},
                       log);
  }
  start();
}

PostgresqlServer::~PostgresqlServer() {
  if (pid_ == -1) return;
  thaw();
  stop(SIGQUIT);
}

void PostgresqlServer::start() {
  std::vector<std::string> command = {program("postgres"), "-D", directory_.file("data")};
  for (const std::string& setting :
       {std::string("fsync=off"), std::string("listen_addresses="),
        "unix_socket_directories=" + directory_.path().string(), std::string("shared_buffers=16MB"),
        std::string("max_connections=500"), std::string("autovacuum=off")}) {
    command.emplace_back("-c");
    command.push_back(setting);
  }
  pid_ = start_server_program(command, directory_.file("log"));
  if (!eventually([&] { return PQping(place().c_str()) == PQPING_OK; }, 40s))
    throw std::runtime_error("PostgreSQL does not start: " + contents_of(directory_.file("log")));
}

void PostgresqlServer::stop(int signal) {
  kill(pid_, signal);
  wait_for_end(pid_);
  pid_ = -1;
}

void PostgresqlServer::signal_all(bool freeze) const {
  // The postmaster first, or it would make new ones; and it wakes last.
  const auto send = [&](pid_t pid) { kill(pid, freeze ? SIGSTOP : SIGCONT); };
  if (freeze) send(pid_);
  for (const pid_t child : children_of(pid_)) send(child);
  if (!freeze) send(pid_);
}

std::string PostgresqlServer::place() const {
  return "host=" + directory_.path().string() + " dbname=postgres user=postgres";
}

std::string PostgresqlServer::url(std::string_view options, std::string_view user) const {
  return std::string("postgresql://")
      .append(user)
      .append("@/postgres?host=")
      .append(directory_.path())
      .append("&")
      .append(options);
}

std::string PostgresqlServer::execute(const std::string& statement) const {
  const std::unique_ptr<PGconn, void (*)(PGconn*)> connection(PQconnectdb(place().c_str()), PQfinish);
  PQsetNoticeProcessor(
      connection.get(), [](void*, const char*) {}, nullptr);
  const std::unique_ptr<PGresult, void (*)(PGresult*)> result(PQexec(connection.get(), statement.c_str()),
                                                              PQclear);
  const ExecStatusType status = PQresultStatus(result.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
    throw std::runtime_error(PQerrorMessage(connection.get()));
  return PQntuples(result.get()) > 0 ? PQgetvalue(result.get(), 0, 0) : "";
}

}  // namespace mortise::test
