// Random choices that a seed repeats.
#pragma once

#include <cstdint>
#include <span>

namespace mortise::storm {

// SplitMix64 by Sebastiano Vigna (public domain): any two seeds give streams of their own.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30U)) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EB;
    return mixed ^ (mixed >> 31U);
  }
  std::uint32_t below(std::uint32_t end) { return static_cast<std::uint32_t>((next() >> 32U) * end >> 32U); }
  // Both included.
  std::uint32_t between(std::uint32_t first, std::uint32_t last) { return first + below(last - first + 1); }
  bool one_in(std::uint32_t count) { return below(count) == 0; }

  // One of `choices`, as often as its member `weight` says.
  template <class Choice>
  const Choice& choose(std::span<const Choice> choices) {
    std::uint32_t total = 0;
    for (const Choice& choice : choices) total += choice.weight;
    std::uint32_t drawn = below(total);
    for (const Choice& choice : choices) {
      if (drawn < choice.weight) return choice;
      drawn -= choice.weight;
    }
    return choices.back();
  }

 private:
  std::uint64_t state_;
};

}  // namespace mortise::storm
