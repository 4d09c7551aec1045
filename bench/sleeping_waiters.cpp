// What do many processes cost that wait for a key that somebody keeps, and how many of them does one release
// wake?
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/exclusion.hpp"
#include "support/machine.hpp"
#include "support/options.hpp"
#include "support/report.hpp"
#include "support/samples.hpp"
#include "support/semaphore.hpp"
#include "support/team.hpp"

namespace mortise::bench {

namespace {

using namespace std::chrono_literals;

constexpr auto kRetryDelay = 50ms;  // the default

// Processes that end with this object.
class Crowd {
 public:
  template <class Body>
  Crowd(unsigned count, Body&& body) {
    for (unsigned i = 0; i < count; ++i) members_.push_back(start([&, i] { body(i); }));
    for (const pid_t member : members_) wait_until_asleep(member);
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;
  ~Crowd() {
    for (const pid_t member : members_) end(member);
  }
  [[nodiscard]] const std::vector<pid_t>& members() const { return members_; }

 private:
  std::vector<pid_t> members_;
};

// Of all threads of the process.
std::chrono::nanoseconds cpu_time(pid_t process) {
  clockid_t clock = 0;
  timespec time{};
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0)
    throw std::runtime_error("a waiter is gone");
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

std::chrono::nanoseconds cpu_time(const Crowd& crowd) {
  std::chrono::nanoseconds sum{};
  for (const pid_t member : crowd.members()) sum += cpu_time(member);
  return sum;
}

// How often the thread that waits went to sleep so far: the first one of its process. (Another, which watches
// the holder, looks once a second whether it is still wanted.)
std::uint64_t sleeps(pid_t process) {
  const std::string id = std::to_string(process);
  std::ifstream status("/proc/" + id + "/task/" + id + "/status");
  std::uint64_t count = 0;
  for (std::string word; status >> word;) {
    if (word == "voluntary_ctxt_switches:") status >> count;
  }
  return count;
}

std::vector<std::uint64_t> sleeps(const Crowd& crowd) {
  std::vector<std::uint64_t> counts;
  for (const pid_t member : crowd.members()) counts.push_back(sleeps(member));
  return counts;
}

// The waiters beside as many processes that only sleep as often as a waiter looks: that is their floor.
void report_cpu(unsigned count, const Options& options, Report& report) {
  MortiseLease lease(1h, {.timeout = 1h, .retry_delay = kRetryDelay});
  lease.acquire();
  const Crowd waiters(count, [&](unsigned) { lease.acquire(); });
  const Crowd sleepers(count, [](unsigned) {
    for (;;) std::this_thread::sleep_for(kRetryDelay);
  });
  const auto time = options.choose<Clock::duration>(5s, 2s, 100ms);
  std::vector<double> waiting;
  std::vector<double> sleeping;
  for (unsigned i = 0; i < options.choose(5U, 3U, 1U); ++i) {
    const auto percent = [time](std::chrono::nanoseconds used) {
      return 100 * std::chrono::duration<double>(used) / time;
    };
    const auto waiters_before = cpu_time(waiters);
    const auto sleepers_before = cpu_time(sleepers);
    std::this_thread::sleep_for(time);
    waiting.push_back(percent(cpu_time(waiters) - waiters_before));
    sleeping.push_back(percent(cpu_time(sleepers) - sleepers_before));
  }
  const std::string who = std::to_string(count);
  report.add({who + " waiters, CPU time of all", "% of a core", waiting, at_most(3)});
  report.add({who + " sleepers of 50 ms, CPU time of all", "% of a core", sleeping});
}

struct Succession {
  std::atomic<unsigned> holder = 0;
  Semaphore acquired;
  Semaphore may_release;
};

// Whoever gets the key keeps it until it is told to release, and does not come back.
void hold_once(Exclusion& exclusion, unsigned index, Succession& succession) {
  exclusion.acquire();
  succession.holder = index;
  succession.acquired.post();
  succession.may_release.wait();
  exclusion.release();
  pause();
}

// Those who were woken by one release, the releaser left out.
double woken_by_release(const Crowd& waiters, Succession& succession) {
  const unsigned releaser = succession.holder;
  const auto before = sleeps(waiters);
  succession.may_release.post();
  succession.acquired.wait();
  constexpr auto kAftermath = 30ms;
  std::this_thread::sleep_for(kAftermath);
  const auto after = sleeps(waiters);
  unsigned woken = 0;
  for (unsigned i = 0; i < before.size(); ++i)
    woken += static_cast<unsigned>(i != releaser && before[i] != after[i]);
  return woken;
}

void report_woken(unsigned count, const Options& options, Report& report) {
  MortiseLease lease(1h, {.timeout = 1h, .retry_delay = 1h});  // so that nobody looks unasked
  Shared<Succession> succession;
  const Crowd waiters(count, [&](unsigned i) { hold_once(lease, i, *succession); });
  succession->acquired.wait();
  std::vector<double> woken;
  for (unsigned i = 0; i < options.choose(20U, 10U, 2U); ++i)
    woken.push_back(woken_by_release(waiters, *succession));
  report.add({std::to_string(count) + " waiters, woken by one release", "processes", woken, at_most(2)});
}

void measure(const Options& options, Report& report) {
  const unsigned count = options.choose(200U, 200U, 5U);
  report_cpu(count, options, report);
  report_woken(count, options, report);
}

}  // namespace

}  // namespace mortise::bench

int main(int argc, char** argv) {
  return mortise::bench::run("sleeping_waiters", argc, argv, mortise::bench::measure);
}
