// The library as a guest in somebody else's process: C24.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <clocale>
#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "conformance/conformance.hpp"
#include "support/threads.hpp"

namespace mortise::conformance {
namespace {

using namespace std::chrono_literals;
using test::Channel;
using test::ChildProcess;
using test::Stopwatch;

#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kSmallStack = 1024 * 1024;  // the sanitizer's own frames are large
#else
constexpr std::size_t kSmallStack = 64 * 1024;
#endif

// Runs `body` in `count` threads with small stacks, and waits for them.
void run_in_small_threads(unsigned count, const std::function<void()>& body) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kSmallStack);
  std::vector<pthread_t> threads(count);
  for (pthread_t& thread : threads) {
    const auto call = [](void* fn) -> void* {
      (*static_cast<const std::function<void()>*>(fn))();
      return nullptr;
    };
    // The functions are not changed by the threads.
    pthread_create(&thread, &attributes, call, const_cast<std::function<void()>*>(&body));
  }
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

// What belongs to the process and not to the library.
class Surroundings {
 public:
  Surroundings() : umask_(umask(0)), locale_(setlocale(LC_ALL, nullptr)) {
    umask(umask_);
    for (int number = 1; number < NSIG; ++number)
      sigaction(number, nullptr, &actions_[static_cast<std::size_t>(number)]);
    pthread_sigmask(SIG_BLOCK, nullptr, &mask_);
  }

  bool operator==(const Surroundings& other) const {
    for (int number = 1; number < NSIG; ++number) {
      const auto i = static_cast<std::size_t>(number);
      if (actions_[i].sa_handler != other.actions_[i].sa_handler) return false;
      if (actions_[i].sa_flags != other.actions_[i].sa_flags) return false;
      if (sigismember(&mask_, number) != sigismember(&other.mask_, number)) return false;
    }
    return umask_ == other.umask_ && locale_ == other.locale_;
  }

 private:
  mode_t umask_;
  std::string locale_;
  std::array<struct sigaction, NSIG> actions_{};
  sigset_t mask_{};
};

// Every operation there is, a wait included; also the ones that are refused.
void use_everything(const std::function<Lock()>& handle, const std::shared_ptr<LockStore>& store) {
  Lock lock = handle();
  if (!lock.acquire({.timeout = 30s, .retry_delay = 1ms})) std::abort();
  lock.extend();
  if (!lock.is_locked() || lock.is_expired() || !lock.remaining_time()) std::abort();
  if (handle().acquire({.timeout = 2ms, .retry_delay = 1ms})) std::abort();
  if (!restore_lock(lock.serialize(), store).release()) std::abort();
  if (lock.release() || lock.detach()) std::abort();
  try {
    lock.extend();
    std::abort();
  } catch (const LockNotHeldError&) {
  }
}

TEST_P(ProcessConformance, C24_D8_HostKeepsItsSignalsItsChildrenAndItsThreads) {
  ChildProcess host([&](Channel&) {
    signal(SIGCHLD, SIG_IGN);
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    const Surroundings before;
    run_in_small_threads(20, [&] { use_everything([&] { return handle("k"); }, connect()); });
    if (test::count_threads() != 1) throw std::runtime_error("there is a thread that the host did not start");
    if (waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD) throw std::runtime_error("there is a child");
    if (!(Surroundings() == before))
      throw std::runtime_error("a handler, a mask, the umask or the locale changed");
  });
  EXPECT_EQ(host.wait(), 0);
}

TEST_P(ProcessConformance, C24_NothingIsWrittenToStdoutOrStderr) {
  ChildProcess host([&](Channel&) {
    std::array<int, 2> output{};
    if (pipe(output.data()) != 0) _exit(1);
    fcntl(output[0], F_SETFL, O_NONBLOCK);
    const int real_stderr = dup(STDERR_FILENO);
    dup2(output[1], STDOUT_FILENO);
    dup2(output[1], STDERR_FILENO);
    use_everything([&] { return handle("k"); }, connect());
    dup2(real_stderr, STDERR_FILENO);
    char byte = 0;
    if (read(output[0], &byte, 1) != -1 || errno != EAGAIN) throw std::runtime_error("something was written");
  });
  EXPECT_EQ(host.wait(), 0);
}

// A child that is forked while other threads are inside the library uses it, and exits, as if they had not
// been there.
TEST_P(ProcessConformance, C17_D8_ForkWhileOtherThreadsAreInsideAcquire) {
  if (test::kWhyNoForkBesideThreads != nullptr) GTEST_SKIP() << test::kWhyNoForkBesideThreads;
  ChildProcess host([&](Channel&) {
    Lock held = handle("held");
    if (!held.acquire_immediately()) std::abort();
    const std::jthread waiting([&](const std::stop_token& stop) {
      std::ignore = handle("held").acquire({.timeout = 60s, .stop = stop});
    });
    const std::jthread churning([&](const std::stop_token& stop) {
      for (int i = 0; !stop.stop_requested(); ++i)
        std::ignore = handle(LockKey("key " + std::to_string(i))).acquire_immediately();
    });
    for (int i = 0; i < 30; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        alarm(20);
        if (handle("held").acquire_immediately()) std::abort();
        use_everything([&] { return handle("the child's"); }, connect());
        std::exit(0);
      }
      const Stopwatch watch;
      int status = 0;
      waitpid(child, &status, 0);
      if (status != 0) throw std::runtime_error("a child failed with status " + std::to_string(status));
      if (watch.elapsed() > 2s) throw std::runtime_error("a child took too long");
    }
    if (!held.release()) std::abort();
  });
  EXPECT_EQ(host.wait(), 0);
}

}  // namespace
}  // namespace mortise::conformance
