#include "stores/sql/postgresql_server.hpp"

#include <fcntl.h>
#include <grp.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "support/eventually.hpp"

namespace mortise::test {

namespace {

using namespace std::chrono_literals;

constexpr std::string_view kPrograms = MORTISE_POSTGRESQL_PROGRAMS;

// Who the server is run as.
const passwd& server_user() {
  static const passwd user = [] {
    const passwd* found = geteuid() != 0 ? getpwuid(geteuid()) : getpwnam("postgres");
    if (found == nullptr) found = getpwnam("nobody");
    if (found == nullptr) throw std::runtime_error("there is no user to run PostgreSQL as");
    return *found;
  }();
  return user;
}

std::string contents_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void exec_as_server(const std::string& log, std::vector<char*> arguments) {
  const passwd& user = server_user();
  const int output = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  if (geteuid() == 0 && (setgroups(0, nullptr) != 0 || setgid(user.pw_gid) != 0 || setuid(user.pw_uid) != 0))
    _exit(126);
  prctl(PR_SET_PDEATHSIG, SIGQUIT);  // after the change of user, which takes it away
  if (chdir("/") != 0) _exit(126);
  execv(arguments[0], arguments.data());
  _exit(127);
}

int wait_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return status;
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

PostgresqlServer::PostgresqlServer(Settings settings) : settings_(std::move(settings)) {
  if (geteuid() == 0 && chown(directory_.path().c_str(), server_user().pw_uid, server_user().pw_gid) != 0)
    throw std::runtime_error("cannot give a directory to the user of PostgreSQL");
  const int status =
      wait_for(spawn({std::string(kPrograms) + "/initdb", "--pgdata=" + directory_.file("data"),
                      "--username=postgres", "--auth=trust", "--locale=C", "--encoding=UTF8", "--no-sync",
                      "--wal-segsize=1", "--no-instructions"}));
  if (status != 0) throw std::runtime_error("initdb failed: " + contents_of(directory_.file("log")));
  start();
}

PostgresqlServer::~PostgresqlServer() {
  if (pid_ == -1) return;
  thaw();
  stop(SIGQUIT);
}

pid_t PostgresqlServer::spawn(const std::vector<std::string>& command) const {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const std::string log = directory_.file("log");
  const pid_t pid = fork();
  if (pid == 0) exec_as_server(log, arguments);
  if (pid < 0) throw std::runtime_error("cannot fork");
  return pid;
}

void PostgresqlServer::start() {
  std::vector<std::string> command = {std::string(kPrograms) + "/postgres", "-D", directory_.file("data")};
  Settings settings = {
      "fsync=off",           "listen_addresses=",   "unix_socket_directories=" + directory_.path().string(),
      "shared_buffers=16MB", "max_connections=500", "autovacuum=off"};
  settings.insert(settings.end(), settings_.begin(), settings_.end());
  for (const std::string& setting : settings) {
    command.emplace_back("-c");
    command.push_back(setting);
  }
  pid_ = spawn(command);
  const std::string place = "host=" + directory_.path().string() + " dbname=postgres user=postgres";
  if (!eventually([&] { return PQping(place.c_str()) == PQPING_OK; }, 40s))
    throw std::runtime_error("PostgreSQL does not start: " + contents_of(directory_.file("log")));
}

void PostgresqlServer::stop(int signal) {
  kill(pid_, signal);
  wait_for(pid_);
  pid_ = -1;
}

void PostgresqlServer::signal_all(bool freeze) const {
  // The postmaster first, or it would make new ones; and it wakes last.
  const auto send = [&](pid_t pid) { kill(pid, freeze ? SIGSTOP : SIGCONT); };
  if (freeze) send(pid_);
  for (const pid_t child : children_of(pid_)) send(child);
  if (!freeze) send(pid_);
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
  const std::string place = "host=" + directory_.path().string() + " dbname=postgres user=postgres";
  const std::unique_ptr<PGconn, void (*)(PGconn*)> connection(PQconnectdb(place.c_str()), PQfinish);
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
