// A pigeonhole in shared memory where a process leaves a serialized lease for whoever comes by.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "history.hpp"

namespace mortise::storm {

struct Letter {
  LeaseId lease;
  KeyIndex key;
  Time certain_until;  // the lease is in force until here at least
  std::string text;
};

// One process puts letters in, one after another; any number try to take them out. Whoever of them dies in
// the middle leaves it empty or full.
class Outbox {
 public:
  static constexpr std::size_t kLongestText = 2400;  // a key of 1,024 bytes as hex digits, and the rest

  // False: the last letter is still there, or the text is too long.
  bool put(const Letter& letter) noexcept {
    if (number_.load(std::memory_order_acquire) != kEmpty || letter.text.size() > kLongestText) return false;
    const std::uint64_t number = last_number_.load(std::memory_order_relaxed) + 1;
    last_number_.store(number, std::memory_order_relaxed);
    lease_.store(letter.lease, std::memory_order_relaxed);
    key_.store(letter.key, std::memory_order_relaxed);
    certain_until_.store(letter.certain_until, std::memory_order_relaxed);
    size_.store(letter.text.size(), std::memory_order_relaxed);
    for (std::size_t i = 0; i < letter.text.size(); ++i)
      text_[i].store(letter.text[i], std::memory_order_relaxed);
    number_.store(number, std::memory_order_release);
    return true;
  }

  // The letter is ours if nobody took it while it was read.
  std::optional<Letter> take() {
    std::uint64_t number = number_.load(std::memory_order_acquire);
    if (number == kEmpty) return std::nullopt;
    Letter letter{lease_.load(std::memory_order_relaxed),
                  key_.load(std::memory_order_relaxed),
                  certain_until_.load(std::memory_order_relaxed),
                  {}};
    letter.text.resize(std::min(size_.load(std::memory_order_relaxed), kLongestText));
    for (std::size_t i = 0; i < letter.text.size(); ++i)
      letter.text[i] = text_[i].load(std::memory_order_relaxed);
    if (!number_.compare_exchange_strong(number, kEmpty)) return std::nullopt;
    return letter;
  }

 private:
  static constexpr std::uint64_t kEmpty = 0;
  std::atomic<std::uint64_t> number_ = kEmpty;  // of the letter inside: no two have the same
  std::atomic<std::uint64_t> last_number_ = kEmpty;
  std::atomic<LeaseId> lease_ = kNobodys;
  std::atomic<KeyIndex> key_ = 0;
  std::atomic<Time> certain_until_ = Time{};
  std::atomic<std::size_t> size_ = 0;
  std::array<std::atomic<char>, kLongestText> text_{};
};

}  // namespace mortise::storm
