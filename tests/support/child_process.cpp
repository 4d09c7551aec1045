#include "support/child_process.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace mortise::test {

namespace {

constexpr std::size_t kLongestMessage = 64 * 1024;

[[noreturn]] void throw_errno(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// The call again for as long as a signal interrupts it.
template <class Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

[[noreturn]] void run_child(const std::function<void(Channel&)>& body, Channel& parent, pid_t parent_pid) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Did it die before the line above? 0: it is outside of this child's pid namespace.
  const pid_t parent_now = getppid();
  if (parent_now != parent_pid && parent_now != 0) _exit(ChildProcess::kUncaughtException);
  try {
    body(parent);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "in a child process: %s\n", error.what());
    _exit(ChildProcess::kUncaughtException);
  }
  _exit(0);
}

}  // namespace

Channel::Channel(Channel&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

Channel& Channel::operator=(Channel&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Channel::~Channel() {
  if (descriptor_ >= 0) close(descriptor_);
}

void Channel::send(std::string_view message) const {
  const auto call = [&] { return ::send(descriptor_, message.data(), message.size(), MSG_NOSIGNAL); };
  if (uninterrupted(call) < 0) throw_errno("send");
}

std::string Channel::receive() const {
  std::string message(kLongestMessage, '\0');
  const ssize_t size = uninterrupted([&] { return recv(descriptor_, message.data(), message.size(), 0); });
  if (size < 0) throw_errno("recv");
  if (size == 0) throw std::runtime_error("the other process is gone");
  message.resize(static_cast<std::size_t>(size));
  return message;
}

void Channel::await_end() const noexcept {
  char byte = 0;
  uninterrupted([&] { return recv(descriptor_, &byte, 1, 0); });
}

ChildProcess::ChildProcess(const std::function<void(Channel& parent)>& body) : pid_(-1), channel_(-1) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) throw_errno("socketpair");
  Channel here(ends[0]);
  Channel there(ends[1]);
  const pid_t parent_pid = getpid();
  pid_ = fork();
  if (pid_ < 0) throw_errno("fork");
  if (pid_ == 0) {
    { const Channel closed_in_the_child(std::move(here)); }
    run_child(body, there, parent_pid);
  }
  channel_ = std::move(here);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), channel_(std::move(other.channel_)) {}

ChildProcess::~ChildProcess() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  uninterrupted([&] { return waitpid(pid_, nullptr, 0); });
}

void ChildProcess::signal(int number) const {
  if (::kill(pid_, number) != 0) throw_errno("kill");
}

void ChildProcess::stop() const {
  signal(SIGSTOP);
  siginfo_t info;
  if (uninterrupted([&] { return waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED); }) != 0) {
    throw_errno("waitid");
  }
}

void ChildProcess::resume() const {
  signal(SIGCONT);
}

void ChildProcess::await_death() const {
  siginfo_t info;
  if (uninterrupted([&] { return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT); }) != 0) {
    throw_errno("waitid");
  }
}

int ChildProcess::wait() {
  int status = 0;
  if (uninterrupted([&] { return waitpid(pid_, &status, 0); }) < 0) throw_errno("waitpid");
  pid_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int ChildProcess::kill() {
  signal(SIGKILL);
  return wait();
}

}  // namespace mortise::test
