#include "command.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

#include "say.hpp"

namespace with_lock {

namespace {

// Beyond the descriptors that scripts name by number.
int without_close_on_exec(int descriptor) {
  constexpr int kOutOfTheWay = 32;
  const int copy = fcntl(descriptor, F_DUPFD, kOutOfTheWay);
  return copy >= 0 ? copy : fcntl(descriptor, F_DUPFD, STDERR_FILENO + 1);
}

void set_environment(const Launch& launch) {
  setenv("MORTISE_FENCING_TOKEN", std::to_string(launch.lease.fencing_token()).c_str(), 1);
  if (!launch.options.handover) return;
  setenv("MORTISE_LOCK", launch.lease.text().c_str(), 1);
  // There restore_lock() finds the lease.
  if (launch.options.store_is_given) setenv("MORTISE_STORE", launch.options.store.c_str(), 1);
}

[[noreturn]] void become_command(const Launch& launch) {
  set_environment(launch);
  if (launch.lifeline >= 0 && without_close_on_exec(launch.lifeline) < 0) {
    say(std::string("no descriptor is left for the command: ") + std::strerror(errno));
    _exit(kSystemFailed);
  }
  std::vector<char*> words;
  for (const std::string& word : launch.options.command) words.push_back(strdup(word.c_str()));
  words.push_back(nullptr);
  sigprocmask(SIG_SETMASK, &launch.signal_mask, nullptr);
  execvp(words[0], words.data());
  const int error = errno;
  say(launch.options.command[0] + ": " + std::strerror(error));
  _exit(error == ENOENT ? kNotFound : kCannotExecute);
}

}  // namespace

pid_t start(const Launch& launch) {
  const pid_t parent = getpid();
  const pid_t command = fork();
  if (command < 0) throw std::system_error(errno, std::generic_category(), "cannot start the command");
  if (command == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(kSystemFailed);  // it ended before the line above
    become_command(launch);
  }
  setpgid(command, command);  // whoever of the two comes first: signals find the group from here on
  return command;
}

}  // namespace with_lock
