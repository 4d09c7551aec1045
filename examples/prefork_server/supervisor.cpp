#include "supervisor.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <system_error>
#include <thread>

namespace prefork_server {
namespace {

using namespace std::chrono_literals;

// How long a worker may take to finish its requests when it is stopped.
constexpr auto kGracePeriod = 10s;
// A worker that dies young may do so again: it is not started as fast as it can die.
constexpr auto kYoung = 1s;
constexpr auto kPauseAfterEarlyDeath = 100ms;

sigset_t set_of(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

int wait_for_signal(std::initializer_list<int> signals) {
  const sigset_t set = set_of(signals);
  while (true) {
    const int signal = sigwaitinfo(&set, nullptr);
    if (signal > 0) return signal;
  }
}

// False when the time is up.
bool wait_for_child_until(std::chrono::steady_clock::time_point deadline) {
  const auto left = std::max(deadline - std::chrono::steady_clock::now(), 0ns);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
  const timespec timeout{seconds.count(), (left - seconds).count()};
  const sigset_t set = set_of({SIGCHLD});
  return sigtimedwait(&set, nullptr, &timeout) == SIGCHLD || errno != EAGAIN;
}

// How the process ended; nullopt while it lives.
std::optional<std::string> end_of(pid_t pid) {
  int status = 0;
  if (waitpid(pid, &status, WNOHANG) != pid) return std::nullopt;
  return WIFSIGNALED(status) ? "was ended by signal " + std::to_string(WTERMSIG(status))
                             : "ended with status " + std::to_string(WEXITSTATUS(status));
}

// In one piece, because all processes write to the same file.
void log(const std::string& line) {
  std::clog << line + '\n' << std::flush;
}

}  // namespace

Supervisor::Supervisor(std::size_t workers, std::function<void()> work)
    : size_(workers), work_(std::move(work)) {}

void Supervisor::run() {
  const sigset_t signals = set_of({SIGCHLD, SIGTERM, SIGINT});
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  do {
    bury_the_dead();
    while (workers_.size() < size_) start_worker();
  } while (wait_for_signal({SIGCHLD, SIGTERM, SIGINT}) == SIGCHLD);
  stop_workers();
}

void Supervisor::start_worker() {
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid == 0) be_a_worker(parent);
  workers_.push_back({pid, Clock::now()});
  log("worker " + std::to_string(pid) + " started");
}

void Supervisor::be_a_worker(pid_t parent) {
  // Workers do not outlive a parent that is killed.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(EXIT_FAILURE);
  int status = EXIT_SUCCESS;
  try {
    work_();
  } catch (const std::exception& error) {
    log("worker " + std::to_string(getpid()) + ": " + error.what());
    status = EXIT_FAILURE;
  }
  _exit(status);  // what was set up before the fork is the parent's to take down
}

void Supervisor::bury_the_dead() {
  bool died_young = false;
  std::erase_if(workers_, [&](const Worker& worker) {
    const auto end = end_of(worker.pid);
    if (end) log("worker " + std::to_string(worker.pid) + ' ' + *end);
    died_young |= end && Clock::now() - worker.started < kYoung;
    return end.has_value();
  });
  if (died_young) std::this_thread::sleep_for(kPauseAfterEarlyDeath);
}

void Supervisor::stop_workers() {
  send_to_workers(SIGTERM);
  const auto deadline = Clock::now() + kGracePeriod;
  do {
    bury_the_dead();
  } while (!workers_.empty() && wait_for_child_until(deadline));
  send_to_workers(SIGKILL);
  for (const Worker& worker : workers_) waitpid(worker.pid, nullptr, 0);
  workers_.clear();
}

void Supervisor::send_to_workers(int signal) const {
  for (const Worker& worker : workers_) kill(worker.pid, signal);
}

}  // namespace prefork_server
