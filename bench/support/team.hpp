// Processes that do something at the same time.
#pragma once

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <vector>

namespace mortise::bench {

// A value that this process and those that it forks later share.
template <class T>
class Shared {
 public:
  template <class... Args>
  explicit Shared(Args&&... args) : value_(new (map()) T(std::forward<Args>(args)...)) {}
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() { munmap(value_, sizeof(T)); }
  T* operator->() const { return value_; }
  T& operator*() const { return *value_; }

 private:
  static void* map() {
    void* memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    return memory;
  }
  T* value_;
};

// Everybody waits at it until all have come.
class Barrier {
 public:
  explicit Barrier(unsigned count) : missing_(count) {}
  void arrive_and_wait() {
    --missing_;
    while (missing_ > 0) usleep(100);
  }

 private:
  std::atomic<unsigned> missing_;
};

// A forked process that runs `body` and ends. It dies with its parent, and of an exception.
template <class Body>
pid_t start(Body&& body) {
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("cannot fork");
  if (pid > 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  [&]() noexcept { body(); }();
  _exit(0);
}

inline void join(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw std::runtime_error("a process of the benchmark failed");
}

inline void end(pid_t pid) {
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

// `count` processes, all of which run body(index) from the same moment on.
template <class Body>
void run_team(unsigned count, Body&& body) {
  Shared<Barrier> barrier(count);
  std::vector<pid_t> members;
  for (unsigned i = 0; i < count; ++i) {
    members.push_back(start([&, i] {
      barrier->arrive_and_wait();
      body(i);
    }));
  }
  for (const pid_t pid : members) join(pid);
}

}  // namespace mortise::bench
