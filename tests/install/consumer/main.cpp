// Uses an installed mortise as anybody would: takes a lock, and starts a second copy of itself that must be
// excluded while the lock is held, and no longer.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <iostream>
#include <mortise/mortise.hpp>

namespace {

constexpr int kGranted = 10;
constexpr int kExcluded = 11;

int run_second_copy() {
  std::array<char, 9> name{"consumer"};
  std::array<char, 7> argument{"second"};
  std::array<char*, 3> arguments{name.data(), argument.data(), nullptr};
  pid_t child = 0;
  if (posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments.data(), environ) != 0) return -1;
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

bool expect(const char* when, int expected, int answer) {
  if (answer != expected) std::cerr << when << ": expected " << expected << ", got " << answer << '\n';
  return answer == expected;
}

}  // namespace

int main(int argc, char** /*argv*/) {
  mortise::Lock lock = mortise::lock("consumer");
  if (argc > 1) return lock.acquire_immediately() ? kGranted : kExcluded;

  if (!lock.acquire_immediately()) return 1;
  if (!expect("while the lock is held", kExcluded, run_second_copy())) return 1;
  if (!lock.release()) return 1;
  return expect("after its release", kGranted, run_second_copy()) ? 0 : 1;
}
