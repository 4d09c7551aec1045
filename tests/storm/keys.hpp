// The keys of a storm.
#pragma once

#include <string>

#include "history.hpp"
#include "mortise/types.hpp"

namespace mortise::storm {

// Keys whose every operation is written down; the first few are hot.
inline constexpr KeyIndex kHotKeys = 4;
inline constexpr KeyIndex kWatchedKeys = 28;
// Keys that are hammered at full speed, of which only a sample is written down: some that everybody wants,
// and a crowd that is larger than the table, so that its keys drive each other out and come back.
inline constexpr KeyIndex kHammeredKeys = kWatchedKeys + 3;
inline constexpr KeyIndex kAllKeys = kHammeredKeys + 512;

// Of all lengths, also of those that have slots of their own.
inline std::size_t length_of_key(KeyIndex index) {
  constexpr std::size_t kShort = 12;
  if (index % 8 == 3) return 217 + index * 37 % (LockKey::kMaxBytes - 216);
  if (index % 8 == 6) return 89 + index * 37 % (216 - 88);
  return kShort + index % (88 - kShort + 1);
}

inline LockKey key_of(KeyIndex index) {
  std::string bytes = "key " + std::to_string(index) + " ";
  bytes.resize(length_of_key(index), static_cast<char>(index));
  return LockKey(bytes);
}

// A key that nobody had before.
inline LockKey unique_key(ProcessNumber process, std::uint64_t number) {
  std::string bytes = "unique " + std::to_string(process) + " " + std::to_string(number) + " ";
  bytes.resize(length_of_key(static_cast<KeyIndex>(number % kAllKeys)), 'u');
  return LockKey(bytes);
}

}  // namespace mortise::storm
