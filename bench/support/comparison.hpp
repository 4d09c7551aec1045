// The same thing measured with several contestants, which take turns, so that whatever else the machine does
// meets them all.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "support/report.hpp"
#include "support/samples.hpp"

namespace mortise::bench {

template <class Work>
Clock::duration time_of(const Work& work) {
  const auto start = Clock::now();
  work();
  return Clock::now() - start;
}

class Comparison {
 public:
  // measure(contestant) answers a duration. The first one of each, which may have to set things up, does not
  // count.
  template <class Measure>
  Comparison(std::size_t contestants, unsigned repetitions, unsigned rounds, Measure&& measure) {
    for (std::size_t i = 0; i < contestants; ++i) measure(i);
    for (unsigned repetition = 0; repetition < repetitions; ++repetition) {
      std::vector<std::vector<float>> micros(contestants);
      for (unsigned round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < contestants; ++i)
          micros[i].push_back(static_cast<float>(in_micros(measure(i))));
      }
      repetitions_.emplace_back(micros.begin(), micros.end());
    }
  }

  // In microseconds, of each repetition.
  [[nodiscard]] std::vector<double> percentile(std::size_t contestant, double percent) const {
    std::vector<double> values;
    for (const auto& samples : repetitions_) values.push_back(samples[contestant].percentile(percent));
    return values;
  }
  // Of one contestant's percentile to another's, of each repetition.
  [[nodiscard]] std::vector<double> ratio(std::size_t contestant, std::size_t to, double percent) const {
    std::vector<double> values;
    for (const auto& samples : repetitions_)
      values.push_back(samples[contestant].percentile(percent) / samples[to].percentile(percent));
    return values;
  }

 private:
  std::vector<std::vector<Samples>> repetitions_;  // of each, those of each contestant
};

}  // namespace mortise::bench
