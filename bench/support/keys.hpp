// Many keys, made when they are needed: to keep a million of them would measure the memory they are kept in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mortise::bench {

// Keys that end in the eight hexadecimal digits of their number.
class KeyMaker {
 public:
  static constexpr std::size_t kDigits = 8;

  explicit KeyMaker(std::size_t bytes) : text_(bytes - kDigits, 'k') { text_.append(kDigits, '0'); }
  // Of that number, until the next call.
  std::string_view operator()(std::uint64_t number) {
    constexpr std::string_view kHex = "0123456789abcdef";
    constexpr unsigned kBits = 4;
    for (std::size_t i = 1; i <= kDigits; ++i, number >>= kBits)
      text_[text_.size() - i] = kHex[number % kHex.size()];
    return text_;
  }

 private:
  std::string text_;
};

// Numbers below a limit in no order that a prefetcher could follow.
class RandomNumbers {
 public:
  explicit RandomNumbers(std::uint64_t limit, std::uint64_t seed = 1) : limit_(limit), state_(seed) {}
  std::uint64_t operator()() {
    // splitmix64
    std::uint64_t mixed = state_ += 0x9e3779b97f4a7c15U;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
    return (mixed ^ (mixed >> 31U)) % limit_;
  }

 private:
  std::uint64_t limit_;
  std::uint64_t state_;
};

}  // namespace mortise::bench
