// What does it cost to lock a key that nobody else wants, and how much more do the alternatives cost?
#include <exception>
#include <memory>
#include <mortise/mortise.hpp>
#include <string>
#include <utility>
#include <vector>

#include "peers/floors.hpp"
#include "peers/peer.hpp"
#include "support/exclusion.hpp"
#include "support/options.hpp"
#include "support/report.hpp"
#include "support/turns.hpp"

namespace mortise::bench {

namespace {

using namespace std::chrono_literals;

constexpr auto kKept = "mortise, Lock kept";
constexpr auto kRun = "mortise, lock(key).run(noop)";

Contestant kept_lock(const Segment& segment) {
  return {kKept, [lease = std::make_shared<Lock>(kUsualKey, 30s, segment.store())](std::size_t times) {
            for (; times > 0; --times) {
              must(lease->acquire(), "acquire");
              must(lease->release(), "release");
            }
          }};
}

Contestant new_lock_run(const Segment& segment) {
  set_lock_store(segment.store());
  return {kRun, [](std::size_t times) {
            for (; times > 0; --times) must(bool(lock(kUsualKey).run([] {})), "run");
          }};
}

std::vector<Contestant> all(const Segment& segment, Report& report) {
  std::vector<Contestant> contestants{kept_lock(segment), new_lock_run(segment), clock_read(), cas_pair()};
  for (const Peer& peer : peers()) {
    try {
      std::shared_ptr<Exclusion> exclusion = peer.make();
      exclusion->enter();
      contestants.push_back({peer.name, [exclusion](std::size_t times) { exclusion->cycle(times); }});
    } catch (const std::exception& error) {
      report.miss(peer.name + ": " + error.what());
    }
  }
  for (const std::string& name : missing_peers()) report.miss(name);
  return contestants;
}

struct Rival {
  const char* name;
  Target target;
};

void measure(const Options& options, Report& report) {
  const Segment segment;
  const auto contestants = all(segment, report);
  const Turns turns(contestants, options);
  for (const Contestant& one : contestants) report.add({one.name, "ns", turns.cost(one.name).medians()});

  const Series floor = turns.cost("robust mutex") + turns.cost("clock read");
  report.add({"lock(key).run(noop) / (robust mutex + clock read)", "x", (turns.cost(kRun) / floor).medians(),
              at_most(1.25, 1.0)});
  report.add({"Lock kept / (robust mutex + clock read)", "x", (turns.cost(kKept) / floor).medians(),
              at_most(1.0, 0.8)});
  for (const auto& [name, target] :
       {Rival{"tdb_chainlock", at_least(1.5)}, Rival{"Berkeley DB lock_get", at_least(3)},
        Rival{"flock, descriptor kept", at_least(20)}, Rival{"Redis, unix socket", at_least(700)}}) {
    if (turns.has(name))
      report.add({std::string(name) + " / mortise, Lock kept", "x",
                  (turns.cost(name) / turns.cost(kKept)).medians(), target});
  }
}

}  // namespace

}  // namespace mortise::bench

int main(int argc, char** argv) {
  return mortise::bench::run("against_peers", argc, argv, mortise::bench::measure);
}
