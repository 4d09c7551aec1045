#include "support/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "support/machine.hpp"

namespace mortise::bench {

namespace {

using Json = nlohmann::ordered_json;

struct Summary {
  double median;
  double min;
  double max;
};

Summary summary(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  const double median = values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  return {median, values.front(), values.back()};
}

// Three significant digits, and never an exponent.
std::string text(double value) {
  const int exponent = value > 0 ? static_cast<int>(std::floor(std::log10(value))) : 0;
  std::ostringstream out;
  out << std::fixed << std::setprecision(std::clamp(2 - exponent, 0, 5)) << value;
  return out.str();
}

std::string text(const Target& target) {
  return (target.sense == Target::Sense::at_most ? "<= " : ">= ") + text(target.bound);
}

Json to_json(const Target& target) {
  Json json{{target.sense == Target::Sense::at_most ? "at_most" : "at_least", target.bound}};
  if (target.goal) json["goal"] = *target.goal;
  return json;
}

Json to_json(const Figure& figure) {
  const auto [median, min, max] = summary(figure.repetitions);
  Json json{{"name", figure.name}, {"unit", figure.unit}, {"median", median},
            {"min", min},          {"max", max},          {"repetitions", figure.repetitions}};
  if (figure.target) json["target"] = to_json(*figure.target);
  return json;
}

void print(const Figure& figure) {
  const auto [median, min, max] = summary(figure.repetitions);
  std::cout << std::left << std::setw(58) << figure.name << std::right << std::setw(8) << text(median)
            << " (" + text(min) + " to " + text(max) + ") " + figure.unit;
  if (figure.target) std::cout << "; target " << text(*figure.target);
  std::cout << std::endl;
}

}  // namespace

Report::Report(std::string benchmark, Options options)
    : benchmark_(std::move(benchmark)), options_(std::move(options)) {
  std::cout << benchmark_ << std::endl;
}

void Report::add(Figure figure) {
  print(figure);
  figures_.push_back(std::move(figure));
}

void Report::miss(const std::string& what) {
  std::cout << "missing: " << what << std::endl;
  missing_.push_back(what);
}

void Report::write() const {
  if (options_.json.empty()) return;
  Json figures = Json::array();
  for (const Figure& figure : figures_) figures.push_back(to_json(figure));
  std::ofstream file(options_.json);
  file << Json{{"benchmark", benchmark_}, {"context", context()}, {"figures", figures}, {"missing", missing_}}
              .dump(2)
       << std::endl;
  if (!file) throw std::runtime_error("cannot write " + options_.json);
}

int run(const char* benchmark, int argc, char** argv, void (*measure)(const Options&, Report&)) noexcept {
  try {
    const Options options = parse_options(argc, argv);
    Report report(benchmark, options);
    measure(options, report);
    report.write();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", benchmark, error.what());
    return 1;
  }
}

}  // namespace mortise::bench
