// How long after the holder is killed does the waiter in another process have the key?
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <new>
#include <string>

#include "support/comparison.hpp"
#include "support/exclusion.hpp"
#include "support/machine.hpp"
#include "support/options.hpp"
#include "support/report.hpp"
#include "support/semaphore.hpp"
#include "support/team.hpp"

namespace {

using namespace mortise::bench;

constexpr std::size_t kGiB = std::size_t{1} << 30U;

struct Meeting {
  Semaphore held;
  std::atomic<Clock::time_point> acquired_at{};
};

void make_resident(std::size_t bytes) {
  if (bytes == 0) return;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  std::memset(memory, 1, bytes);
}

Clock::duration hand_off(Exclusion& exclusion, std::size_t resident_bytes) {
  Shared<Meeting> meeting;
  const pid_t holder = start([&] {
    make_resident(resident_bytes);
    exclusion.acquire();
    meeting->held.post();
    pause();
  });
  meeting->held.wait();
  const pid_t waiter = start([&] {
    exclusion.acquire();
    meeting->acquired_at = Clock::now();
    exclusion.release();
  });
  wait_until_asleep(waiter);
  const auto killed_at = Clock::now();
  kill(holder, SIGKILL);
  join(waiter);
  waitpid(holder, nullptr, 0);
  return meeting->acquired_at.load() - killed_at;
}

void compare(const std::string& what, std::size_t resident_bytes, unsigned repetitions, unsigned rounds,
             Report& report) {
  MortiseLease lease;
  FileLock flock;
  enum Contestant : std::size_t { kMortise, kFileLock };
  const std::array<Exclusion*, 2> contestants{&lease, &flock};
  const Comparison comparison(contestants.size(), repetitions, rounds,
                              [&](std::size_t i) { return hand_off(*contestants.at(i), resident_bytes); });
  for (const double percent : {50.0, 99.0}) {
    const std::string suffix = percent == 50 ? ", p50" : ", p99";
    report.add({what + ", mortise" + suffix, "µs", comparison.percentile(kMortise, percent)});
    report.add({what + ", flock" + suffix, "µs", comparison.percentile(kFileLock, percent)});
    report.add({what + ", mortise / flock" + suffix, "x", comparison.ratio(kMortise, kFileLock, percent),
                at_most(1.2)});
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  Report report("crash_hand_off", options);
  compare("small holder", 0, options.choose(5U, 3U, 1U), options.choose(200U, 60U, 2U), report);
  compare("holder with 1 GiB", options.choose(kGiB, kGiB, kGiB / 1024), options.choose(5U, 3U, 1U),
          options.choose(10U, 1U, 1U), report);
  report.write();
}
