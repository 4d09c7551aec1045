// What costs nanoseconds, measured with several contestants, which take turns: whatever else the machine
// does, and however this launch lies in memory, meets them all.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "support/options.hpp"

namespace mortise::bench {

// One value of each round of each repetition. What is computed of two is computed round by round, in which
// both met the same.
class Series {
 public:
  void begin_repetition() { repetitions_.emplace_back(); }
  void add(double value) { repetitions_.back().push_back(value); }
  // Of the rounds of each repetition.
  [[nodiscard]] std::vector<double> medians() const;

  friend Series operator+(const Series& a, const Series& b) { return combine(a, b, std::plus<>()); }
  friend Series operator-(const Series& a, const Series& b) { return combine(a, b, std::minus<>()); }
  friend Series operator/(const Series& a, const Series& b) { return combine(a, b, std::divides<>()); }
  [[nodiscard]] Series map(const std::function<double(double)>& change) const;

 private:
  static Series combine(const Series& a, const Series& b,
                        const std::function<double(double, double)>& operation);
  std::vector<std::vector<double>> repetitions_;
};

struct Contestant {
  std::string name;
  std::function<void(std::size_t times)> work;
};

// The compiler must take the value for used.
inline void keep(std::uint64_t value) {
  asm volatile("" : : "r"(value) : "memory");
}

// In long turns it counts less that the others' turns left the caches cold.
struct Pace {
  std::chrono::microseconds turn;
  unsigned rounds;  // of a repetition
};
constexpr Pace kShortTurns{std::chrono::microseconds(400), 41};
constexpr Pace kLongTurns{std::chrono::milliseconds(3), 15};

class Turns {
 public:
  // A turn is as many times as take so long; the first ones find out how many these are. A round is one turn
  // of each.
  Turns(const std::vector<Contestant>& contestants, const Options& options, Pace pace = kShortTurns);

  // In nanoseconds for one time.
  [[nodiscard]] const Series& cost(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const { return costs_.find(name) != costs_.end(); }

 private:
  std::map<std::string, Series, std::less<>> costs_;
};

}  // namespace mortise::bench
