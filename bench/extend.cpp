// What does it cost to extend a lease?
#include <chrono>
#include <memory>
#include <mortise/mortise.hpp>
#include <vector>

#include "support/exclusion.hpp"
#include "support/options.hpp"
#include "support/report.hpp"
#include "support/turns.hpp"

namespace mortise::bench {

namespace {

using namespace std::chrono_literals;

constexpr auto kExtend = "mortise, extend";
constexpr auto kPair = "mortise, acquire and release";

void measure(const Options& options, Report& report) {
  const Segment segment;
  Lock held("held", 30s, segment.store());
  must(held.acquire(), "acquire");
  Lock free(kUsualKey, 30s, segment.store());
  const auto extend = [&](std::size_t times) {
    for (; times > 0; --times) held.extend(40s);
  };
  const auto pair = [&](std::size_t times) {
    for (; times > 0; --times) {
      must(free.acquire(), "acquire");
      must(free.release(), "release");
    }
  };
  const Turns turns({{kExtend, extend}, {kPair, pair}}, options);
  for (const char* name : {kExtend, kPair}) report.add({name, "ns", turns.cost(name).medians()});
  report.add({"extend / (acquire and release)", "x", (turns.cost(kExtend) / turns.cost(kPair)).medians(),
              at_most(1)});
}

}  // namespace

}  // namespace mortise::bench

int main(int argc, char** argv) {
  return mortise::bench::run("extend", argc, argv, mortise::bench::measure);
}
