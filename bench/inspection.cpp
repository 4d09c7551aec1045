// What does it cost those who lock that somebody lists all leases, again and again?
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <mortise/inspect.hpp>
#include <mortise/mortise.hpp>
#include <string>
#include <thread>
#include <vector>

#include "support/exclusion.hpp"
#include "support/keys.hpp"
#include "support/machine.hpp"
#include "support/options.hpp"
#include "support/report.hpp"
#include "support/samples.hpp"
#include "support/team.hpp"
#include "support/turns.hpp"

namespace mortise::bench {

namespace {

using namespace std::chrono_literals;

// What the other process does while this one locks.
enum class Other : unsigned { sleep, list, list_paced, read };

struct Meeting {
  std::atomic<Other> other = Other::sleep;
  std::atomic<std::uint64_t> lists = 0;   // finished so far
  std::atomic<std::uint64_t> leases = 0;  // on the last one
};

// As much memory as the list reads, read by somebody who knows nothing of mortise: what two processes on one
// machine do to each other.
void read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> buffer(std::size_t{1} << 16U);
  while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())))
    keep(static_cast<std::uint64_t>(buffer[0]));
}

// So often, unless a list takes longer.
constexpr Clock::duration kPace = 1ms;

[[noreturn]] void be_the_other(const Segment& segment, Meeting& meeting) {
  const auto view = open_view("shm:" + segment.path());
  const auto list = [&] {
    meeting.leases = view->leases().size();
    ++meeting.lists;
  };
  for (Clock::time_point next = Clock::now();;) {
    switch (meeting.other) {
      case Other::sleep:
        usleep(100);
        next = Clock::now();
        break;
      case Other::list:
        list();
        break;
      case Other::list_paced:
        std::this_thread::sleep_until(next);
        next += kPace;
        list();
        break;
      case Other::read:
        read_all(segment.path());
        break;
    }
  }
}

// Acquired and released in a second, while the other one does this.
double throughput(Lock& lease, Other other, Clock::duration time, Meeting& meeting) {
  meeting.other = other;
  const auto end = Clock::now() + time;
  constexpr std::size_t kBatch = 64;
  std::uint64_t count = 0;
  for (; Clock::now() < end; count += kBatch) {
    for (std::size_t i = 0; i < kBatch; ++i) {
      must(lease.acquire(), "acquire");
      must(lease.release(), "release");
    }
  }
  meeting.other = Other::sleep;
  return static_cast<double>(count) / std::chrono::duration<double>(time).count();
}

std::vector<Lock> hold(const Segment& segment, unsigned count) {
  std::vector<Lock> locks;
  KeyMaker make_key(24);
  for (unsigned i = 0; i < count; ++i) {
    locks.emplace_back(make_key(i), 1h, segment.store());
    must(locks.back().acquire(), "acquire");
  }
  return locks;
}

// A segment with so many leases, this process, which locks in it, and the other one, each on a processor of
// its own where there are two.
class Scene {
 public:
  Scene(const std::string& options, unsigned leases)
      : segment_(options), other_(start([&] {
          pin_to(processors().back());
          be_the_other(segment_, *meeting_);
        })) {
    pin_to(processors().front());
    held_ = hold(segment_, leases);
  }
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;
  ~Scene() { end(other_); }

  double throughput_beside(Other other, Clock::duration time) {
    return throughput(lease_, other, time, *meeting_);
  }
  [[nodiscard]] std::uint64_t lists() const { return meeting_->lists; }

 private:
  Segment segment_;
  Shared<Meeting> meeting_;
  pid_t other_;
  std::vector<Lock> held_;
  Lock lease_{"key", 30s, segment_.store()};
};

// What an eager monitor does: a thousand lists a second of a table of the usual size.
void measure_paced(const Options& options, Report& report) {
  Scene scene("", 100);
  const auto time = options.choose<Clock::duration>(100ms, 60ms, 20ms);
  Series alone;
  Series listed;
  std::vector<double> rates;
  for (unsigned repetition = 0; repetition < options.choose(5U, 5U, 1U); ++repetition) {
    alone.begin_repetition();
    listed.begin_repetition();
    const std::uint64_t lists_before = scene.lists();
    const unsigned rounds = options.choose(9U, 5U, 1U);
    for (unsigned round = 0; round < rounds; ++round) {
      alone.add(scene.throughput_beside(Other::sleep, time));
      listed.add(scene.throughput_beside(Other::list_paced, time));
    }
    rates.push_back(static_cast<double>(scene.lists() - lists_before) /
                    std::chrono::duration<double>(time * rounds).count());
  }
  report.add({"100 leases, lists beside a locker", "1/s", rates});
  report.add({"100 leases, throughput beside 1000 lists a second / alone", "x", (listed / alone).medians(),
              at_least(0.95)});
}

void measure_unpaced(const Options& options, Report& report) {
  const unsigned held = options.choose(10'000U, 10'000U, 100U);
  Scene scene("?slots=32768", held);
  const auto time = options.choose<Clock::duration>(60ms, 40ms, 20ms);
  Series alone;
  Series listed;
  Series read;
  std::vector<double> list_millis;
  for (unsigned repetition = 0; repetition < options.choose(5U, 5U, 1U); ++repetition) {
    for (Series* series : {&alone, &listed, &read}) series->begin_repetition();
    const std::uint64_t lists_before = scene.lists();
    const unsigned rounds = options.choose(9U, 5U, 1U);
    for (unsigned round = 0; round < rounds; ++round) {
      alone.add(scene.throughput_beside(Other::sleep, time));
      listed.add(scene.throughput_beside(Other::list, time));
      read.add(scene.throughput_beside(Other::read, time));
    }
    const auto lists = static_cast<double>(scene.lists() - lists_before);
    if (lists > 0) list_millis.push_back(in_micros(time) / 1000 * rounds / lists);
  }
  const std::string leases = std::to_string(held) + " leases, ";
  report.add({leases + "throughput beside a list / alone", "x", (listed / alone).medians()});
  report.add(
      {leases + "throughput beside a reader of as much memory / alone", "x", (read / alone).medians()});
  if (!list_millis.empty()) report.add({leases + "one list beside a locker", "ms", list_millis});
}

void measure(const Options& options, Report& report) {
  measure_paced(options, report);
  measure_unpaced(options, report);
}

}  // namespace

}  // namespace mortise::bench

int main(int argc, char** argv) {
  return mortise::bench::run("inspection", argc, argv, mortise::bench::measure);
}
