// What does it cost when no key is ever used twice?
#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <memory>
#include <mortise/mortise.hpp>
#include <string>
#include <vector>

#include "peers/peer.hpp"
#include "support/exclusion.hpp"
#include "support/keys.hpp"
#include "support/options.hpp"
#include "support/report.hpp"
#include "support/turns.hpp"

namespace mortise::bench {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kKeyBytes = 24;
constexpr std::size_t kSlots = 16384;  // the default
constexpr auto kNew = "mortise, new keys";
constexpr auto kWarm = "mortise, one key";

void lock_once(std::string_view key, const std::shared_ptr<LockStore>& store) {
  Lock lease(key, 30s, store);
  must(lease.acquire(), "acquire");
  must(lease.release(), "release");
}

Contestant warm_key(const Segment& segment) {
  return {kWarm, [make_key = KeyMaker(kKeyBytes), store = segment.store()](std::size_t times) mutable {
            for (; times > 0; --times) lock_once(make_key(0), store);
          }};
}

// Every slot has had a key before.
Contestant new_keys(const Segment& segment) {
  Contestant contestant{kNew, [make_key = KeyMaker(kKeyBytes), number = std::uint64_t{1},
                               store = segment.store()](std::size_t times) mutable {
                          for (; times > 0; --times) lock_once(make_key(number++), store);
                        }};
  contestant.work(kSlots * 4);
  return contestant;
}

Contestant new_keys(const Peer& peer) {
  std::shared_ptr<KeyedExclusion> keyed = peer.make_keyed(kSlots);
  return {peer.name,
          [keyed, make_key = KeyMaker(kKeyBytes), number = std::uint64_t{1}](std::size_t times) mutable {
            for (; times > 0; --times) {
              const std::string_view key = make_key(number++);
              keyed->acquire(key);
              keyed->release(key);
            }
          }};
}

// In KiB: what this process occupies beside what it shares, and the blocks of the segment.
double memory(const Segment& segment) {
  std::ifstream status("/proc/self/status");
  double anonymous = 0;
  for (std::string word; status >> word;) {
    if (word == "RssAnon:") status >> anonymous;
  }
  struct stat file {};
  must(stat(segment.path().c_str(), &file) == 0, "stat");
  constexpr double kBlocksInKiB = 2;
  return anonymous + static_cast<double>(file.st_blocks) / kBlocksInKiB;
}

void report_memory(const Segment& segment, const Contestant& contestant, const Options& options,
                   Report& report) {
  std::vector<double> growth;
  for (unsigned i = 0; i < options.choose(5U, 5U, 1U); ++i) {
    const double before = memory(segment);
    contestant.work(options.choose(200'000U, 50'000U, 100U));
    growth.push_back(memory(segment) - before);
  }
  constexpr double kOnePage = 4;
  report.add({"growth of the memory by 200,000 new keys", "KiB", growth, at_most(kOnePage)});
}

void measure(const Options& options, Report& report) {
  const Segment segment("?slots=" + std::to_string(kSlots));
  const Segment other;
  std::vector<Contestant> contestants{new_keys(segment), warm_key(other)};
  for (const Peer& peer : peers()) {
    if (peer.make_keyed != nullptr) contestants.push_back(new_keys(peer));
  }
  const Turns turns(contestants, options, kLongTurns);
  for (const Contestant& one : contestants) report.add({one.name, "ns", turns.cost(one.name).medians()});
  report.add({"new keys / one key", "x", (turns.cost(kNew) / turns.cost(kWarm)).medians(), at_most(4, 2.5)});
  report_memory(segment, contestants.front(), options, report);
}

}  // namespace

}  // namespace mortise::bench

int main(int argc, char** argv) {
  return mortise::bench::run("new_keys", argc, argv, mortise::bench::measure);
}
