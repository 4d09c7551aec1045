#include "support/turns.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <stdexcept>

#include "support/samples.hpp"

namespace mortise::bench {

namespace {

using namespace std::chrono_literals;

double in_nanos(Clock::duration time) {
  return std::chrono::duration<double, std::nano>(time).count();
}

Clock::duration time_of(const Contestant& contestant, std::size_t times) {
  const auto begin = Clock::now();
  contestant.work(times);
  return Clock::now() - begin;
}

// How many times take about so long. The first time may have to set things up, and any time may be
// interrupted: so the shorter one of two counts.
std::size_t times_within(const Contestant& contestant, Clock::duration turn) {
  constexpr std::size_t kEnough = std::size_t{1} << 30U;
  contestant.work(1);
  std::size_t times = 1;
  const auto taken = [&] { return std::min(time_of(contestant, times), time_of(contestant, times)); };
  auto time = taken();
  for (; time < turn / 4 && times < kEnough; time = taken()) times *= 2;
  const double fitting = static_cast<double>(times) * in_nanos(turn) / in_nanos(time);
  return std::max<std::size_t>(1, static_cast<std::size_t>(fitting));
}

}  // namespace

std::vector<double> Series::medians() const {
  std::vector<double> result;
  for (std::vector<double> rounds : repetitions_) {
    const auto middle = rounds.begin() + static_cast<std::ptrdiff_t>(rounds.size() / 2);
    std::nth_element(rounds.begin(), middle, rounds.end());
    result.push_back(*middle);
  }
  return result;
}

Series Series::combine(const Series& a, const Series& b,
                       const std::function<double(double, double)>& operation) {
  Series result;
  for (std::size_t i = 0; i < a.repetitions_.size(); ++i) {
    const auto& ours = a.repetitions_[i];
    std::vector<double>& values = result.repetitions_.emplace_back();
    std::transform(ours.begin(), ours.end(), b.repetitions_.at(i).begin(), std::back_inserter(values),
                   operation);
  }
  return result;
}

Series Series::map(const std::function<double(double)>& change) const {
  Series result = *this;
  for (std::vector<double>& rounds : result.repetitions_)
    std::transform(rounds.begin(), rounds.end(), rounds.begin(), change);
  return result;
}

Turns::Turns(const std::vector<Contestant>& contestants, const Options& options, Pace pace) {
  const auto turn = options.choose<Clock::duration>(pace.turn, pace.turn, 10us);
  const unsigned repetitions = options.choose(5U, 5U, 1U);
  const unsigned rounds = options.choose(pace.rounds, pace.rounds / 2, 1U);
  std::vector<std::size_t> times;
  std::transform(contestants.begin(), contestants.end(), std::back_inserter(times),
                 [turn](const Contestant& contestant) { return times_within(contestant, turn); });
  for (unsigned repetition = 0; repetition < repetitions; ++repetition) {
    for (const Contestant& contestant : contestants) costs_[contestant.name].begin_repetition();
    for (unsigned round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < contestants.size(); ++i) {
        const auto taken = time_of(contestants[i], times[i]);
        costs_[contestants[i].name].add(in_nanos(taken) / static_cast<double>(times[i]));
      }
    }
  }
}

const Series& Turns::cost(std::string_view name) const {
  const auto found = costs_.find(name);
  if (found == costs_.end()) throw std::out_of_range("no contestant is called " + std::string(name));
  return found->second;
}

}  // namespace mortise::bench
