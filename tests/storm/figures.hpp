// What a storm is made of, in numbers.
#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>

#include "history.hpp"
#include "supervisor.hpp"
#include "world.hpp"

namespace mortise::storm {

// Adds up the histories of the rounds.
class Figures {
 public:
  void add(const History& history);
  void print(std::ostream& out, const StormFigures& storm, const World& world) const;

 private:
  static constexpr std::size_t kResults = 4;
  using ByResult = std::array<std::uint64_t, kResults + 1>;  // the last: open

  std::array<ByResult, kKinds> calls_{};
  std::uint64_t waits_granted_ = 0;
  std::uint64_t waits_in_vain_ = 0;
  Time deaths_{};  // from the kill to the burial
  std::uint64_t killed_ = 0;
  Time first_calls_{};  // from the fork to the first call
  std::uint64_t called_ = 0;
};

}  // namespace mortise::storm
