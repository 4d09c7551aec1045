// Do two processes, or two threads, that use different keys get twice as much done as one?
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mortise/mortise.hpp>
#include <string>
#include <thread>
#include <vector>

#include "peers/robust_mutex.hpp"
#include "support/exclusion.hpp"
#include "support/machine.hpp"
#include "support/options.hpp"
#include "support/report.hpp"
#include "support/samples.hpp"
#include "support/team.hpp"
#include "support/turns.hpp"

namespace mortise::bench {

namespace {

using namespace std::chrono_literals;

constexpr unsigned kWorkers = 2;

// What each worker does for itself, so many times.
struct Task {
  std::string name;
  std::function<void(unsigned worker, std::size_t times)> work;
};

// Each worker's speed, in a second; on cache lines that they do not share.
struct alignas(128) Tally {
  std::atomic<double> per_second = 0;
};
using Tallies = std::array<Tally, kWorkers>;

void work_for(Clock::duration time, const Task& task, unsigned worker, Tally& tally) {
  static const std::vector<int> usable = processors();
  pin_to(usable[worker % usable.size()]);
  constexpr std::size_t kBatch = 64;  // between two looks at the clock
  const auto begin = Clock::now();
  std::uint64_t count = 0;
  do {
    task.work(worker, kBatch);
    count += kBatch;
  } while (Clock::now() - begin < time);
  tally.per_second = static_cast<double>(count) / std::chrono::duration<double>(Clock::now() - begin).count();
}

enum class Kind { processes, threads };

double throughput(const Task& task, Kind kind, const std::vector<unsigned>& workers, Clock::duration time) {
  Shared<Tallies> tallies;
  const auto count = static_cast<unsigned>(workers.size());
  if (kind == Kind::processes) {
    run_team(count, [&](unsigned i) { work_for(time, task, workers[i], (*tallies)[workers[i]]); });
  } else {
    Barrier barrier(count);
    std::vector<std::jthread> threads;
    threads.reserve(count);
    for (const unsigned worker : workers) {
      threads.emplace_back([&, worker] {
        barrier.arrive_and_wait();
        work_for(time, task, worker, (*tallies)[worker]);
      });
    }
  }
  double sum = 0;
  for (const Tally& tally : *tallies) sum += tally.per_second;
  return sum;
}

// Each worker has a key of its own, another one for each number: keys that happen to be neighbours in the
// table shall not decide.
Task mortise_keys(const std::shared_ptr<LockStore>& store, unsigned number) {
  struct alignas(128) Line {
    Lock lock;
  };
  auto lines = std::make_shared<std::vector<Line>>();
  for (unsigned i = 0; i < kWorkers; ++i)
    lines->push_back({lock("key:" + std::to_string(number) + ":" + std::to_string(i), 30s, store)});
  return {"mortise", [lines](unsigned worker, std::size_t times) {
            for (Lock& lease = (*lines)[worker].lock; times > 0; --times) {
              must(lease.acquire(), "acquire");
              must(lease.release(), "release");
            }
          }};
}

Task robust_mutexes() {
  struct alignas(128) Line {
    pthread_mutex_t mutex;
  };
  auto lines = std::make_shared<Shared<std::array<Line, kWorkers>>>();
  for (Line& line : **lines) make_robust(line.mutex);
  return {"robust mutexes", [lines](unsigned worker, std::size_t times) {
            for (pthread_mutex_t& mutex = (**lines)[worker].mutex; times > 0; --times) {
              pthread_mutex_lock(&mutex);
              pthread_mutex_unlock(&mutex);
            }
          }};
}

// What the machine gives: nothing is shared, and nothing but registers used.
Task computing() {
  return {"computing", [](unsigned worker, std::size_t times) {
            for (std::uint64_t value = worker; times > 0; --times) {
              constexpr unsigned kSteps = 64;
              for (unsigned i = 0; i < kSteps; ++i) value = value * 6364136223846793005U + 1;
              keep(value);
            }
          }};
}

void compare(Kind kind, const Options& options, Report& report) {
  const Segment segment;
  const auto time = options.choose<Clock::duration>(30ms, 20ms, 1ms);
  std::vector<Task> tasks{mortise_keys(segment.store(), 0), robust_mutexes(), computing()};
  std::vector<Series> one(tasks.size());
  std::vector<Series> two(tasks.size());
  unsigned number = 0;
  for (unsigned repetition = 0; repetition < options.choose(5U, 5U, 1U); ++repetition) {
    for (std::vector<Series>* series : {&one, &two}) {
      for (Series& each : *series) each.begin_repetition();
    }
    for (unsigned round = 0; round < options.choose(9U, 5U, 1U); ++round) {
      tasks.front() = mortise_keys(segment.store(), number++);
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        // Each on its own processor: on a shared machine one of them may be the slower.
        const double alone = throughput(tasks[i], kind, {0}, time) + throughput(tasks[i], kind, {1}, time);
        one[i].add(alone / kWorkers);
        two[i].add(throughput(tasks[i], kind, {0, 1}, time));
      }
    }
  }
  const std::string who = kind == Kind::processes ? "processes" : "threads";
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const bool ours = i == 0;
    report.add({"two " + who + " / one, " + tasks[i].name, "x", (two[i] / one[i]).medians(),
                ours ? std::optional(at_least(1.9)) : std::nullopt});
  }
  report.add({"two " + who + " / one, mortise, as a part of what computing gets", "x",
              (two.front() / one.front() / (two.back() / one.back())).medians()});
}

void measure(const Options& options, Report& report) {
  compare(Kind::processes, options, report);
  compare(Kind::threads, options, report);
}

}  // namespace

}  // namespace mortise::bench

int main(int argc, char** argv) {
  return mortise::bench::run("scaling", argc, argv, mortise::bench::measure);
}
