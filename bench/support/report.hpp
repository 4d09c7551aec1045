// The figures of a benchmark, beside their targets.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "support/options.hpp"

namespace mortise::bench {

// What a figure must be, and what it had better be. Whether it is, is judged over several launches: see
// tools/bench.
struct Target {
  enum class Sense { at_most, at_least } sense;
  double bound;
  std::optional<double> goal{};
};
inline Target at_most(double bound, std::optional<double> goal = {}) {
  return {Target::Sense::at_most, bound, goal};
}
inline Target at_least(double bound, std::optional<double> goal = {}) {
  return {Target::Sense::at_least, bound, goal};
}

struct Figure {
  std::string name;
  std::string unit;
  std::vector<double> repetitions;  // one value of each; their median is the figure
  std::optional<Target> target{};
};

class Report {
 public:
  Report(std::string benchmark, Options options);
  // Prints it at once.
  void add(Figure figure);
  // What should have taken part and could not.
  void miss(const std::string& what);
  // Writes the file that the options name.
  void write() const;

 private:
  std::string benchmark_;
  Options options_;
  std::vector<Figure> figures_;
  std::vector<std::string> missing_;
};

// The main function of a benchmark. What goes wrong is printed.
int run(const char* benchmark, int argc, char** argv, void (*measure)(const Options&, Report&)) noexcept;

}  // namespace mortise::bench
