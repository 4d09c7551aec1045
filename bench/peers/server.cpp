#include "peers/server.hpp"

#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <stdexcept>
#include <thread>

#include "support/exclusion.hpp"

namespace mortise::bench {

namespace {

constexpr uid_t kNobody = 65534;

// A change of the user takes the death signal away, so that comes last.
void become_unprivileged_and_mortal(int end_signal) {
  if (geteuid() == 0 && (setgroups(0, nullptr) != 0 || setgid(kNobody) != 0 || setuid(kNobody) != 0))
    _exit(1);
  prctl(PR_SET_PDEATHSIG, end_signal);
}

void be_silent() {
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, descriptor);
}

}  // namespace

Server::Server(std::vector<std::string> command, int end_signal)
    : name_(command.front()), end_signal_(end_signal), maker_(getpid()), pid_(fork()) {
  must(pid_ >= 0, "fork");
  if (pid_ > 0) return;
  become_unprivileged_and_mortal(end_signal);
  be_silent();
  std::vector<char*> arguments;
  std::transform(command.begin(), command.end(), std::back_inserter(arguments),
                 [](std::string& argument) { return argument.data(); });
  arguments.push_back(nullptr);
  execvp(arguments.front(), arguments.data());
  _exit(1);
}

Server::~Server() {
  if (pid_ == 0 || getpid() != maker_) return;
  kill(pid_, end_signal_);
  waitpid(pid_, nullptr, 0);
}

void Server::wait_until(const std::function<bool()>& ready) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!ready()) {
    if (waitpid(pid_, nullptr, WNOHANG) != 0) {
      pid_ = 0;
      throw std::runtime_error(name_ + " is not installed, or does not start");
    }
    if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error(name_ + " does not answer");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

void Server::wait_for_end() {
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = 0;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw std::runtime_error(name_ + " failed");
}

void give_to_unprivileged(const std::string& directory) {
  if (geteuid() == 0) must(chown(directory.c_str(), kNobody, kNobody) == 0, "chown");
}

}  // namespace mortise::bench
