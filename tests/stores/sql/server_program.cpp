#include "stores/sql/server_program.hpp"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace mortise::test {

namespace {

const passwd& server_user() {
  static const passwd user = [] {
    const passwd* found = geteuid() != 0 ? getpwuid(geteuid()) : getpwnam("postgres");
    if (found == nullptr) found = getpwnam("nobody");
    if (found == nullptr) throw std::runtime_error("there is no user to run a server as");
    return *found;
  }();
  return user;
}

[[noreturn]] void become(const std::string& log, const std::vector<char*>& arguments) {
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

}  // namespace

pid_t start_server_program(const std::vector<std::string>& command, const std::string& log) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) become(log, arguments);
  if (pid < 0) throw std::runtime_error("cannot fork");
  return pid;
}

void run_server_program(const std::vector<std::string>& command, const std::string& log) {
  if (wait_for_end(start_server_program(command, log)) == 0) return;
  std::ifstream printed(log);
  throw std::runtime_error(command[0] +
                           " failed: " + std::string(std::istreambuf_iterator<char>(printed), {}));
}

void give_to_server_user(const std::filesystem::path& path) {
  if (geteuid() == 0 && chown(path.c_str(), server_user().pw_uid, server_user().pw_gid) != 0)
    throw std::runtime_error("cannot give " + path.string() + " to the user of a server");
}

int wait_for_end(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

}  // namespace mortise::test
