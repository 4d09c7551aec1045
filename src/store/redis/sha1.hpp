// The name of a script on the server: the SHA-1 of its text, worked out by the compiler.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mortise::store::redis {

using Sha1Hex = std::array<char, 40>;

namespace detail {

using Sha1State = std::array<std::uint32_t, 5>;

// The byte at `i` of the text with its padding, which is `size` bytes long.
constexpr std::uint32_t padded_byte(std::string_view text, std::size_t size, std::size_t i) {
  constexpr unsigned kEnd = 0x80;
  if (i < text.size()) return static_cast<unsigned char>(text[i]);
  if (i == text.size()) return kEnd;
  const std::size_t from_end = size - 1 - i;
  return from_end < sizeof(std::uint64_t)
             ? static_cast<std::uint32_t>((std::uint64_t{text.size()} * 8U) >> (8U * from_end)) & 0xffU
             : 0;
}

constexpr std::uint32_t mixed(unsigned round, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  if (round < 20) return ((b & c) | (~b & d)) + 0x5a827999U;
  if (round < 40) return (b ^ c ^ d) + 0x6ed9eba1U;
  if (round < 60) return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdcU;
  return (b ^ c ^ d) + 0xca62c1d6U;
}

constexpr void add_block(Sha1State& state, std::array<std::uint32_t, 80>& words) {
  for (std::size_t i = 16; i < words.size(); ++i)
    words[i] = std::rotl(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
  auto [a, b, c, d, e] = state;
  for (unsigned round = 0; round < 80; ++round) {
    const std::uint32_t next = std::rotl(a, 5) + mixed(round, b, c, d) + e + words[round];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  const Sha1State sums{a, b, c, d, e};
  for (std::size_t i = 0; i < state.size(); ++i) state[i] += sums[i];
}

}  // namespace detail

// In hexadecimal, as EVALSHA wants it.
constexpr Sha1Hex sha1(std::string_view text) {
  constexpr std::size_t kBlock = 64;
  constexpr std::size_t kOverhead = 1 + sizeof(std::uint64_t);
  const std::size_t size = (text.size() + kOverhead + kBlock - 1) / kBlock * kBlock;
  detail::Sha1State state{0x67452301U, 0xefcdab89U, 0x98badcfeU, 0x10325476U, 0xc3d2e1f0U};
  for (std::size_t block = 0; block < size; block += kBlock) {
    std::array<std::uint32_t, 80> words{};
    for (std::size_t i = 0; i < kBlock; ++i)
      words[i / 4] = (words[i / 4] << 8U) | detail::padded_byte(text, size, block + i);
    detail::add_block(state, words);
  }
  Sha1Hex hex{};
  for (std::size_t i = 0; i < hex.size(); ++i)
    hex[i] = "0123456789abcdef"[(state[i / 8] >> (28 - 4 * (i % 8))) & 0xfU];
  return hex;
}

}  // namespace mortise::store::redis
