// How long after the holder is killed does the waiter in another process have the key?
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "peers/flock.hpp"
#include "support/comparison.hpp"
#include "support/exclusion.hpp"
#include "support/machine.hpp"
#include "support/options.hpp"
#include "support/report.hpp"
#include "support/semaphore.hpp"
#include "support/team.hpp"

namespace mortise::bench {

namespace {

constexpr std::size_t kGiB = std::size_t{1} << 30U;

void make_resident(std::size_t bytes) {
  if (bytes == 0) return;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  std::memset(memory, 1, bytes);
}

// Who has it, and since when.
struct Turn {
  Semaphore acquired;
  std::atomic<pid_t> holder = 0;
  std::atomic<Clock::time_point> acquired_at{};
};

pid_t start_contender(Exclusion& exclusion, Turn& turn, std::size_t resident_bytes = 0) {
  return start([&exclusion, &turn, resident_bytes] {
    make_resident(resident_bytes);
    exclusion.acquire();
    turn.acquired_at = Clock::now();
    turn.holder = getpid();
    turn.acquired.post();
    pause();
  });
}

// From the kill of the first process that has it, while the other one sleeps, until that one has it.
Clock::duration kill_the_holder(Turn& turn) {
  const auto killed_at = Clock::now();
  kill(turn.holder, SIGKILL);
  turn.acquired.wait();
  return turn.acquired_at.load() - killed_at;
}

Clock::duration hand_off(Exclusion& exclusion, std::size_t resident_bytes) {
  Shared<Turn> turn;
  const pid_t holder = start_contender(exclusion, *turn, resident_bytes);
  turn->acquired.wait();
  const pid_t waiter = start_contender(exclusion, *turn);
  wait_until_asleep(waiter);
  const auto time = kill_the_holder(*turn);
  end(holder);
  end(waiter);
  return time;
}

// The holder got it while the waiter slept, and was itself a waiter until then.
Clock::duration hand_off_after_succession(Exclusion& exclusion) {
  Shared<Turn> turn;
  exclusion.acquire();
  const std::array<pid_t, 2> contenders{start_contender(exclusion, *turn), start_contender(exclusion, *turn)};
  for (const pid_t contender : contenders) wait_until_asleep(contender);
  exclusion.release();
  turn->acquired.wait();
  for (const pid_t contender : contenders) wait_until_asleep(contender);
  const auto time = kill_the_holder(*turn);
  for (const pid_t contender : contenders) end(contender);
  return time;
}

enum Contestant : std::size_t { kMortise, kFileLock, kContestants };

void add(const std::string& what, const Comparison& comparison, Report& report) {
  for (const auto& [percent, suffix] : {std::pair(50.0, ", p50"), {99.0, ", p99"}}) {
    report.add({what + ", mortise" + suffix, "µs", comparison.percentile(kMortise, percent)});
    report.add({what + ", flock" + suffix, "µs", comparison.percentile(kFileLock, percent)});
    report.add({what + ", mortise / flock" + suffix, "x", comparison.ratio(kMortise, kFileLock, percent),
                at_most(1.2)});
  }
}

void measure(const Options& options, Report& report) {
  const unsigned repetitions = options.choose(5U, 3U, 1U);
  MortiseLease lease;
  MortiseLease default_lease(std::chrono::hours(1), {.timeout = std::chrono::minutes(5)});
  FileLock flock;
  const std::array<Exclusion*, kContestants> contestants{&lease, &flock};
  const std::array<Exclusion*, kContestants> by_default{&default_lease, &flock};

  const Comparison small(kContestants, repetitions, options.choose(200U, 40U, 2U),
                         [&](std::size_t i) { return hand_off(*contestants.at(i), 0); });
  add("small holder", small, report);
  const std::size_t resident = options.choose(kGiB, kGiB, kGiB / 1024);
  const Comparison big(kContestants, repetitions, options.choose(3U, 1U, 1U),
                       [&](std::size_t i) { return hand_off(*contestants.at(i), resident); });
  add("holder with 1 GiB", big, report);
  const Comparison succession(kContestants, repetitions, options.choose(100U, 20U, 2U),
                              [&](std::size_t i) { return hand_off_after_succession(*by_default.at(i)); });
  add("holder that came after the waiter", succession, report);
}

}  // namespace

}  // namespace mortise::bench

int main(int argc, char** argv) {
  return mortise::bench::run("crash_hand_off", argc, argv, mortise::bench::measure);
}
