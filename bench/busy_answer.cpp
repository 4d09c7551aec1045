// What does it cost to be told that somebody else, who lives, holds the key?
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <mortise/mortise.hpp>
#include <string>
#include <vector>

#include "peers/descriptor.hpp"
#include "peers/floors.hpp"
#include "peers/robust_mutex.hpp"
#include "support/exclusion.hpp"
#include "support/options.hpp"
#include "support/report.hpp"
#include "support/semaphore.hpp"
#include "support/team.hpp"
#include "support/turns.hpp"

namespace mortise::bench {

namespace {

using namespace std::chrono_literals;

constexpr auto kMortise = "mortise, busy";

// What another process holds.
struct Held {
  Segment segment;
  Shared<pthread_mutex_t> mutex{pthread_mutex_t{}};
  OpenFile file;

  Held() { make_robust(*mutex); }
  void hold() {
    Lock lease(kUsualKey, 1h, segment.store());
    must(lease.acquire(), "acquire");
    must(pthread_mutex_lock(&*mutex) == 0, "pthread_mutex_lock");
    file.open();
    must(flock(file.descriptor(), LOCK_EX) == 0, "flock");
    held->post();
    for (;;) pause();
  }
  Shared<Semaphore> held;
};

std::vector<Contestant> contestants(Held& held) {
  held.file.open();
  const auto try_lease =
      [lease = std::make_shared<Lock>(kUsualKey, 30s, held.segment.store())](std::size_t times) {
        for (; times > 0; --times) must(!lease->acquire(), "the key to be busy");
      };
  const auto try_mutex = [&held](std::size_t times) {
    for (; times > 0; --times) must(pthread_mutex_trylock(&*held.mutex) == EBUSY, "the mutex to be busy");
  };
  const auto try_flock = [&held](std::size_t times) {
    for (; times > 0; --times)
      must(flock(held.file.descriptor(), LOCK_EX | LOCK_NB) != 0, "the file to be busy");
  };
  return {{kMortise, try_lease}, clock_read(), {"robust mutex, busy", try_mutex}, {"flock, busy", try_flock}};
}

void measure(const Options& options, Report& report) {
  Held held;
  const pid_t holder = start([&] { held.hold(); });
  held.held->wait();
  const auto all = contestants(held);
  const Turns turns(all, options);
  end(holder);
  for (const Contestant& one : all) report.add({one.name, "ns", turns.cost(one.name).medians()});
  const auto allowed = [](double clock_read) { return 1.5 * clock_read + 20; };
  report.add({"busy answer / (1.5 clock reads + 20 ns)", "x",
              (turns.cost(kMortise) / turns.cost("clock read").map(allowed)).medians(), at_most(1)});
}

}  // namespace

}  // namespace mortise::bench

int main(int argc, char** argv) {
  return mortise::bench::run("busy_answer", argc, argv, mortise::bench::measure);
}
