// How long after the holder's lease expired does the waiter in another process have the key?
#include <array>
#include <atomic>
#include <thread>

#include "support/comparison.hpp"
#include "support/exclusion.hpp"
#include "support/options.hpp"
#include "support/report.hpp"
#include "support/semaphore.hpp"
#include "support/team.hpp"

namespace mortise::bench {

namespace {

using namespace std::chrono_literals;

constexpr auto kTtl = 10ms;

// A bare timer is the floor.
enum Contestant : std::size_t { kMortise, kTimer, kContestants };

struct Meeting {
  Semaphore asked;
  Semaphore answered;
  std::atomic<std::size_t> contestant = 0;
  std::atomic<Clock::time_point> expiry{};
  std::atomic<Clock::time_point> acquired_at{};
};

[[noreturn]] void wait_when_asked(Exclusion& lease, Meeting& meeting) {
  for (;;) {
    meeting.asked.wait();
    const bool leased = meeting.contestant == kMortise;
    if (leased) {
      lease.acquire();
    } else {
      std::this_thread::sleep_until(meeting.expiry.load());
    }
    meeting.acquired_at = Clock::now();
    if (leased) lease.release();
    meeting.answered.post();
  }
}

// The expiry is taken as early as it may be: the time before the holder acquired, and the ttl.
Clock::duration lateness(Exclusion& lease, std::size_t contestant, Meeting& meeting) {
  meeting.expiry = Clock::now() + kTtl;
  if (contestant == kMortise) lease.acquire();
  meeting.contestant = contestant;
  meeting.asked.post();
  meeting.answered.wait();
  return meeting.acquired_at.load() - meeting.expiry.load();
}

void measure(const Options& options, Report& report) {
  MortiseLease lease(kTtl);
  Shared<Meeting> meeting;
  const pid_t waiter = start([&] { wait_when_asked(lease, *meeting); });
  const Comparison comparison(kContestants, options.choose(5U, 3U, 1U), options.choose(500U, 150U, 2U),
                              [&](std::size_t i) { return lateness(lease, i, *meeting); });
  end(waiter);
  report.add({"mortise, p50 after the expiry", "µs", comparison.percentile(kMortise, 50)});
  report.add({"mortise, p99 after the expiry", "µs", comparison.percentile(kMortise, 99), at_most(2000)});
  report.add({"bare timer, p50", "µs", comparison.percentile(kTimer, 50)});
  report.add({"bare timer, p99", "µs", comparison.percentile(kTimer, 99)});
}

}  // namespace

}  // namespace mortise::bench

int main(int argc, char** argv) {
  return mortise::bench::run("expiry", argc, argv, mortise::bench::measure);
}
