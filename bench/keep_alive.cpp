// What does it cost to keep thousands of leases alive?
#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <memory>
#include <mortise/mortise.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/options.hpp"
#include "support/report.hpp"
#include "support/temporary.hpp"

namespace mortise::bench {

namespace {

using namespace std::chrono_literals;

constexpr auto kTtl = 30s;

long threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

// Of all threads of this process.
std::chrono::nanoseconds cpu_time() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

std::vector<Lock> keep_alive(unsigned count, const std::shared_ptr<LockStore>& store) {
  std::vector<Lock> locks;
  locks.reserve(count);
  for (unsigned i = 0; i < count; ++i) {
    locks.push_back(lock("kept:" + std::to_string(i), kTtl, store));
    if (!locks.back().acquire({.keep_alive = true})) throw std::runtime_error("a key was held");
  }
  return locks;
}

void measure(const Options& options, Report& report) {
  const unsigned count = options.choose(10'000U, 10'000U, 100U);
  const TemporaryName segment;
  const long before = threads();
  const auto store = open_store("shm:" + segment.path() + "?slots=32768");
  const std::vector<Lock> locks = keep_alive(count, store);
  const std::string leases = std::to_string(count) + " leases, ";
  report.add({leases + "threads that keep them alive",
              "threads",
              {static_cast<double>(threads() - before)},
              at_most(1)});

  // In a third of the ttl each lease is renewed once.
  const auto time = options.choose<std::chrono::nanoseconds>(kTtl / 3, kTtl / 3, 100ms);
  std::vector<double> percent;
  for (unsigned i = 0; i < options.choose(5U, 1U, 1U); ++i) {
    const auto used = cpu_time();
    std::this_thread::sleep_for(time);
    percent.push_back(100 * std::chrono::duration<double>(cpu_time() - used) / time);
  }
  report.add({leases + "CPU time", "% of a core", percent, at_most(1)});
  const auto is_lost = [](const Lock& lock) { return lock.is_expired(); };
  if (std::any_of(locks.begin(), locks.end(), is_lost)) throw std::runtime_error("a lease was lost");
}

}  // namespace

}  // namespace mortise::bench

int main(int argc, char** argv) {
  return mortise::bench::run("keep_alive", argc, argv, mortise::bench::measure);
}
