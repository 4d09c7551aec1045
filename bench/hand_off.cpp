// How long after the release in one process does the waiter that sleeps in another have the key?
#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "peers/flock.hpp"
#include "peers/raw_futex.hpp"
#include "support/comparison.hpp"
#include "support/exclusion.hpp"
#include "support/machine.hpp"
#include "support/options.hpp"
#include "support/report.hpp"
#include "support/semaphore.hpp"
#include "support/team.hpp"

namespace mortise::bench {

namespace {

using namespace std::chrono_literals;

// Of a holder and a waiter.
struct Meeting {
  Semaphore asked;
  Semaphore answered;
  std::atomic<std::size_t> contestant = 0;
  std::atomic<Clock::time_point> acquired_at{};
};

enum Contestant : std::size_t { kMortise, kRawFutex, kTimedFutex, kFileLock };
using Contestants = std::array<Exclusion*, 4>;

[[noreturn]] void wait_when_asked(const Contestants& contestants, Meeting& meeting) {
  for (;;) {
    meeting.asked.wait();
    Exclusion& exclusion = *contestants.at(meeting.contestant);
    exclusion.acquire();
    meeting.acquired_at = Clock::now();
    exclusion.release();
    meeting.answered.post();
  }
}

Clock::duration hand_off(Exclusion& exclusion, std::size_t contestant, Meeting& meeting, pid_t waiter) {
  exclusion.acquire();
  meeting.contestant = contestant;
  meeting.asked.post();
  wait_until_asleep(waiter);
  const auto released_at = Clock::now();
  exclusion.release();
  meeting.answered.wait();
  return meeting.acquired_at.load() - released_at;
}

Comparison compare(int holder_processor, int waiter_processor, const Options& options) {
  MortiseLease lease;
  RawFutex futex;
  RawFutex timed_futex(1ms);  // as long as a lease's waiter sleeps first
  FileLock flock;
  const Contestants contestants{&lease, &futex, &timed_futex, &flock};
  Shared<Meeting> meeting;
  const pid_t waiter = start([&] {
    pin_to(waiter_processor);
    wait_when_asked(contestants, *meeting);
  });
  pin_to(holder_processor);
  Comparison comparison(contestants.size(), options.choose(5U, 3U, 1U), options.choose(500U, 100U, 2U),
                        [&](std::size_t i) { return hand_off(*contestants.at(i), i, *meeting, waiter); });
  end(waiter);
  return comparison;
}

void add(const std::string& where, const Comparison& comparison, Report& report) {
  const auto add_times = [&](const char* name, Contestant contestant) {
    report.add({where + ", " + name + ", p50", "µs", comparison.percentile(contestant, 50)});
    report.add({where + ", " + name + ", p99", "µs", comparison.percentile(contestant, 99)});
  };
  add_times("mortise", kMortise);
  add_times("raw futex", kRawFutex);
  add_times("raw futex with a time-out", kTimedFutex);
  add_times("flock", kFileLock);
  report.add(
      {where + ", mortise / raw futex, p50", "x", comparison.ratio(kMortise, kRawFutex, 50), at_most(1.15)});
  report.add(
      {where + ", mortise / raw futex, p99", "x", comparison.ratio(kMortise, kRawFutex, 99), at_most(1.5)});
  report.add({where + ", mortise / raw futex with a time-out, p50", "x",
              comparison.ratio(kMortise, kTimedFutex, 50)});
  report.add({where + ", mortise / flock, p50", "x", comparison.ratio(kMortise, kFileLock, 50)});
  report.add({where + ", mortise / flock, p99", "x", comparison.ratio(kMortise, kFileLock, 99)});
}

void measure(const Options& options, Report& report) {
  const std::vector<int> usable = processors();
  if (usable.size() > 1) add("two cores", compare(usable[0], usable[1], options), report);
  add("one core", compare(usable[0], usable[0], options), report);
}

}  // namespace

}  // namespace mortise::bench

int main(int argc, char** argv) {
  return mortise::bench::run("hand_off", argc, argv, mortise::bench::measure);
}
