#include "support/turns.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>

#include "support/samples.hpp"

namespace mortise::bench {

namespace {

using namespace std::chrono_literals;

template <class Operation>
Series combine(const Series& a, const Series& b, Operation operation) {
  Series result;
  std::transform(a.begin(), a.end(), b.begin(), std::back_inserter(result), operation);
  return result;
}

Clock::duration time_of(const Contestant& contestant, std::size_t times) {
  const auto begin = Clock::now();
  contestant.work(times);
  return Clock::now() - begin;
}

// How many times take about so long.
std::size_t times_within(const Contestant& contestant, Clock::duration turn) {
  constexpr std::size_t kEnough = std::size_t{1} << 30U;
  std::size_t times = 1;
  auto taken = time_of(contestant, times);
  while (taken < turn / 4 && times < kEnough) taken = time_of(contestant, times *= 2);
  return std::max<std::size_t>(
      1, static_cast<std::size_t>(static_cast<double>(times) * (turn / 1.0ns) / (taken / 1.0ns)));
}

}  // namespace

Series operator+(const Series& a, const Series& b) {
  return combine(a, b, std::plus<>());
}

Series operator/(const Series& a, const Series& b) {
  return combine(a, b, std::divides<>());
}

Turns::Turns(const std::vector<Contestant>& contestants, const Options& options) {
  const auto turn = options.choose<Clock::duration>(4ms, 2ms, 10us);
  const unsigned repetitions = options.choose(5U, 5U, 1U);
  const unsigned rounds = options.choose(7U, 5U, 1U);
  std::vector<std::size_t> times;
  for (const Contestant& contestant : contestants) times.push_back(times_within(contestant, turn));
  for (unsigned repetition = 0; repetition < repetitions; ++repetition) {
    std::vector<std::vector<float>> nanos(contestants.size());
    for (unsigned round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < contestants.size(); ++i)
        nanos[i].push_back(
            static_cast<float>(time_of(contestants[i], times[i]) / 1.0ns / static_cast<double>(times[i])));
    }
    for (std::size_t i = 0; i < contestants.size(); ++i)
      costs_[contestants[i].name].push_back(Samples(std::move(nanos[i])).percentile(50));
  }
}

const Series& Turns::cost(std::string_view name) const {
  const auto found = costs_.find(name);
  if (found == costs_.end()) throw std::out_of_range("no contestant is called " + std::string(name));
  return found->second;
}

}  // namespace mortise::bench
