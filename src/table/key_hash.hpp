// The hash that places a key in the table. Part of the segment's format: all who attach must agree on it.
#pragma once

#include <cstdint>

#include "mortise/types.hpp"

namespace mortise::table {

inline constexpr std::uint64_t kHashVersion = 1;

// Seeded per segment with a random number, so that nobody can choose keys that all fall into one stripe.
inline std::uint64_t hash_of(const LockKey& key, std::uint64_t seed) noexcept {
  __extension__ using Wide = unsigned __int128;
  constexpr std::uint64_t kOdd1 = 0x9E3779B97F4A7C15;
  constexpr std::uint64_t kOdd2 = 0xD6E8FEB86659FD93;
  const auto fold = [](std::uint64_t a, std::uint64_t b) {
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
  };
  std::uint64_t hash = seed ^ (key.size() * kOdd1);
  for (const std::uint64_t word : key.words()) hash = fold(hash ^ word, kOdd2) + kOdd1;
  return fold(hash ^ seed, kOdd1);
}

}  // namespace mortise::table
