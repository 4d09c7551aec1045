// How long does it take a new process to be able to lock?
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <mortise/mortise.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "peers/descriptor.hpp"
#include "support/exclusion.hpp"
#include "support/options.hpp"
#include "support/report.hpp"
#include "support/samples.hpp"
#include "support/turns.hpp"

namespace mortise::bench {

namespace {

// In microseconds.
struct Times {
  double open = 0;   // open_store(), or what the kernel does for it
  double first = 0;  // the first lock, until it is released; it attaches
  double next = 0;   // another one
};

class Laps {
 public:
  double next() {
    const auto now = Clock::now();
    return in_micros(now - std::exchange(last_, now));
  }

 private:
  Clock::time_point last_ = Clock::now();
};

Times with_mortise(const std::string& path) {
  Times times;
  Laps laps;
  set_lock_store(open_store("shm:" + path));
  times.open = laps.next();
  must(bool(lock(kUsualKey).run([] {})), "run");
  times.first = laps.next();
  must(bool(lock(kUsualKey).run([] {})), "run");
  times.next = laps.next();
  return times;
}

// The least that a process must ask of the kernel: to map the file, to lock a byte of it, and for three of
// its pages.
Times with_the_kernel(const std::string& path) {
  Times times;
  Laps laps;
  const int descriptor = open_file(path);
  struct stat file {};
  must(fstat(descriptor, &file) == 0, "fstat");
  const auto size = static_cast<std::size_t>(file.st_size);
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  must(memory != MAP_FAILED, "mmap");
  times.open = laps.next();
  struct flock byte {};
  byte.l_type = F_WRLCK;
  byte.l_whence = SEEK_SET;
  byte.l_start = file.st_size;  // beyond what mortise locks
  byte.l_len = 1;
  must(fcntl(open_file(path), F_OFD_SETLK, &byte) == 0, "F_OFD_SETLK");
  auto* const bytes = static_cast<volatile unsigned char*>(memory);
  for (const std::size_t at : {std::size_t{0}, size / 3, size / 2}) keep(bytes[at]);
  times.first = laps.next();
  return times;
}

// What this program does when it is the new process: writes down its times.
int be_new_process(std::string_view how, const std::string& path) {
  const Times times = how == "mortise" ? with_mortise(path) : with_the_kernel(path);
  return write(STDOUT_FILENO, &times, sizeof(times)) == sizeof(times) ? 0 : 1;
}

Times times_of_new_process(std::string how, std::string path) {
  std::array<int, 2> ends{};
  must(pipe2(ends.data(), O_CLOEXEC) == 0, "pipe2");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::string program = "/proc/self/exe";
  const std::array<char*, 4> arguments{program.data(), how.data(), path.data(), nullptr};
  pid_t pid = 0;
  must(posix_spawn(&pid, program.c_str(), &actions, nullptr, arguments.data(), environ) == 0, "posix_spawn");
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  Times times;
  const bool told = read(ends[0], &times, sizeof(times)) == sizeof(times);
  close(ends[0]);
  waitpid(pid, nullptr, 0);
  must(told, "a new process");
  return times;
}

void measure(const Options& options, Report& report) {
  const Segment segment;
  must(bool(lock("first", std::chrono::seconds(30), segment.store()).run([] {})), "run");
  std::array<Series, 4> mortise;
  std::array<Series, 1> kernel;
  for (unsigned repetition = 0; repetition < options.choose(5U, 5U, 1U); ++repetition) {
    for (Series& each : mortise) each.begin_repetition();
    kernel[0].begin_repetition();
    for (unsigned round = 0; round < options.choose(31U, 11U, 1U); ++round) {
      const Times ours = times_of_new_process("mortise", segment.path());
      mortise[0].add(ours.open);
      mortise[1].add(ours.first);
      mortise[2].add(ours.next);
      mortise[3].add(ours.open + ours.first);
      const Times floor = times_of_new_process("kernel", segment.path());
      kernel[0].add(floor.open + floor.first);
    }
  }
  report.add({"open_store() in a new process", "µs", mortise[0].medians()});
  report.add({"its first lock, which attaches", "µs", mortise[1].medians()});
  report.add({"its second lock", "µs", mortise[2].medians()});
  report.add(
      {"attach: both, without a second lock", "µs", (mortise[3] - mortise[2]).medians(), at_most(300)});
  report.add({"first lock of a program, from open_store() to the release", "µs", mortise[3].medians(),
              at_most(1000)});
  report.add({"the kernel's part of it, bare", "µs", kernel[0].medians()});
}

}  // namespace

}  // namespace mortise::bench

int main(int argc, char** argv) {
  const std::span<char*> arguments(argv, static_cast<std::size_t>(argc));
  if (argc == 3 &&
      (std::string_view(arguments[1]) == "mortise" || std::string_view(arguments[1]) == "kernel"))
    return mortise::bench::be_new_process(arguments[1], arguments[2]);
  return mortise::bench::run("attach", argc, argv, mortise::bench::measure);
}
