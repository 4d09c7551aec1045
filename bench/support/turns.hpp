// What costs nanoseconds, measured with several contestants, which take turns: whatever else the machine
// does, and however this launch lies in memory, meets them all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "support/options.hpp"

namespace mortise::bench {

// One value of each repetition.
using Series = std::vector<double>;
Series operator+(const Series& a, const Series& b);
Series operator/(const Series& a, const Series& b);

struct Contestant {
  std::string name;
  std::function<void(std::size_t times)> work;
};

// The compiler must take the value for used.
inline void keep(std::uint64_t value) {
  asm volatile("" : : "r"(value) : "memory");
}

class Turns {
 public:
  // A turn is as many times as take some milliseconds; the first one only finds out how many these are. A
  // repetition is some rounds of turns.
  Turns(const std::vector<Contestant>& contestants, const Options& options);

  // In nanoseconds for one time: the medians of the rounds.
  [[nodiscard]] const Series& cost(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const { return costs_.find(name) != costs_.end(); }

 private:
  std::map<std::string, Series, std::less<>> costs_;
};

}  // namespace mortise::bench
