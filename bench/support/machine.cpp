#include "support/machine.hpp"

#include <sched.h>
#include <sys/utsname.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>

namespace mortise::bench {

namespace {

std::string processor_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

std::string kernel() {
  utsname names{};
  uname(&names);
  return std::string(names.sysname) + " " + names.release + " " + names.machine;
}

std::string compiler() {
#ifdef __clang__
  return __VERSION__;
#else
  return "GCC " __VERSION__;
#endif
}

double load() {
  double average = 0;
  std::ifstream("/proc/loadavg") >> average;
  return average;
}

// R, S, D ...: what follows the name, which may itself contain anything.
char state(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) throw std::runtime_error("a process of the benchmark is gone");
  return text.at(name_end + 2);
}

void wait_for_sleep(pid_t pid) {
  while (state(pid) != 'S') std::this_thread::sleep_for(std::chrono::microseconds(200));
}

}  // namespace

nlohmann::ordered_json context() {
  const char* commit = std::getenv("MORTISE_COMMIT");
#ifdef NDEBUG
  constexpr auto kBuild = "release";
#else
  constexpr auto kBuild = "with assertions";
#endif
  return {{"processor", processor_model()},
          {"processors", processors().size()},
          {"kernel", kernel()},
          {"compiler", compiler()},
          {"build", kBuild},
          {"commit", commit == nullptr ? "unknown" : commit},
          {"load", load()}};
}

std::vector<int> processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) throw std::runtime_error("sched_getaffinity failed");
  std::vector<int> found;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) found.push_back(i);
  }
  return found;
}

void pin_to(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  if (sched_setaffinity(0, sizeof(set), &set) != 0) throw std::runtime_error("sched_setaffinity failed");
}

// Seen asleep twice: a waiter may sleep briefly first, and see to something before it sleeps for long.
void wait_until_asleep(pid_t pid) {
  wait_for_sleep(pid);
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  wait_for_sleep(pid);
}

}  // namespace mortise::bench
