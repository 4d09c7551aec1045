// mortise_storm: many processes, killed and stopped at random.
#include <algorithm>
#include <chrono>
#include <exception>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>

#include "aftermath.hpp"
#include "figures.hpp"
#include "history_checker.hpp"
#include "options.hpp"
#include "support/figures.hpp"
#include "support/shared.hpp"
#include "support/temporary_directory.hpp"

namespace mortise::storm {
namespace {

using namespace std::chrono_literals;

enum ExitCode : int { kKept = 0, kBroken = 1, kUsage = 2 };

// Small, so that keys drive each other out and the slots of the dead are used again.
std::string new_segment(const test::TemporaryDirectory& directory) {
  return "shm:" + directory.file("storm") + "?slots=256&processes=64";
}

// After each round the table is inspected and the history checked.
std::size_t rage(const Options& options, std::ostream& out) {
  constexpr Time kLongestRound = 20s;
  constexpr std::size_t kMostTexts = 20;
  const test::Shared<World> world;
  Supervisor supervisor(options.storm, *world);
  Figures figures;
  std::vector<Violation> violations;
  const auto is_over = [&] {
    if (!violations.empty() || world->findings.count() > 0) return true;
    return supervisor.figures().raged >= options.length && supervisor.figures().kills >= options.kills;
  };
  while (!is_over()) {
    const Time rest = std::max(options.length - supervisor.figures().raged, Time(1s));
    const History history =
        supervisor.rage(std::min(rest, kLongestRound), rest > kLongestRound ? 0 : options.kills);
    inspect_aftermath(options.storm.store_url, *world);
    figures.add(history);
    violations = check(history, {.slack = supervisor.slack()});
  }
  figures.print(out, supervisor.figures(), *world);
  for (const std::string& text : world->findings.texts()) out << "FOUND " << text << '\n';
  for (std::size_t i = 0; i < std::min(violations.size(), kMostTexts); ++i)
    out << "BROKEN " << name_of(violations[i].rule) << ": " << violations[i].text << '\n';
  const std::size_t broken = world->findings.count() + violations.size();
  const StormFigures& storm = supervisor.figures();
  test::report_figures("storm  " + std::to_string(storm.kills) + " kills, " + std::to_string(storm.stops) +
                       " stops, " + std::to_string(broken) + " promises broken, seed " +
                       std::to_string(options.storm.seed));
  return broken;
}

int run(int argc, char** argv) {
  std::optional<Options> options;
  try {
    options = parse_options(argc, argv);
  } catch (const std::invalid_argument& error) {
    std::cerr << "mortise_storm: " << error.what() << " (see mortise_storm --help)\n";
    return kUsage;
  }
  if (!options) return kKept;
  const test::TemporaryDirectory directory;
  if (options->storm.store_url.empty()) options->storm.store_url = new_segment(directory);
  std::cout << "seed " << options->storm.seed << std::endl;
  return rage(*options, std::cout) == 0 ? kKept : kBroken;
}

}  // namespace
}  // namespace mortise::storm

int main(int argc, char** argv) {
  try {
    return mortise::storm::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "mortise_storm: " << error.what() << '\n';
    return mortise::storm::kBroken;
  }
}
