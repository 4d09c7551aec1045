#include "store/sql/key_text.hpp"

#include <array>
#include <charconv>
#include <cstdint>

namespace mortise::sql {

namespace {

constexpr std::string_view kPrefix = "\\x";
constexpr std::string_view kDigits = "0123456789abcdef";

// The length of the UTF-8 sequence at the front of `text`; 0: there is none. As PostgreSQL judges it, which
// is the Unicode standard's table of well-formed byte sequences, without NUL.
std::size_t sequence_at_front(std::string_view text) {
  struct Form {
    unsigned char first_low, first_high, second_low, second_high;
    std::size_t length;
  };
  constexpr std::array<Form, 9> kForms = {{{0x01, 0x7F, 0, 0, 1},
                                           {0xC2, 0xDF, 0x80, 0xBF, 2},
                                           {0xE0, 0xE0, 0xA0, 0xBF, 3},
                                           {0xE1, 0xEC, 0x80, 0xBF, 3},
                                           {0xED, 0xED, 0x80, 0x9F, 3},
                                           {0xEE, 0xEF, 0x80, 0xBF, 3},
                                           {0xF0, 0xF0, 0x90, 0xBF, 4},
                                           {0xF1, 0xF3, 0x80, 0xBF, 4},
                                           {0xF4, 0xF4, 0x80, 0x8F, 4}}};
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (const Form& form : kForms) {
    if (byte(0) < form.first_low || byte(0) > form.first_high) continue;
    if (text.size() < form.length) return 0;
    if (form.length > 1 && (byte(1) < form.second_low || byte(1) > form.second_high)) return 0;
    for (std::size_t i = 2; i < form.length; ++i)
      if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
    return form.length;
  }
  return 0;
}

bool is_plain(std::string_view key) {
  if (key.starts_with(kPrefix)) return false;
  while (!key.empty()) {
    const std::size_t length = sequence_at_front(key);
    if (length == 0) return false;
    key.remove_prefix(length);
  }
  return true;
}

std::optional<std::string> from_digits(std::string_view digits) {
  std::string bytes;
  for (; digits.size() >= 2; digits.remove_prefix(2)) {
    std::uint8_t byte = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + 2, byte, 16);
    if (error != std::errc{} || end != digits.data() + 2) return std::nullopt;
    bytes += static_cast<char>(byte);
  }
  if (!digits.empty()) return std::nullopt;
  return bytes;
}

}  // namespace

std::string text_of(const LockKey& key) {
  if (is_plain(key.bytes())) return std::string(key.bytes());
  std::string text(kPrefix);
  for (const char c : key.bytes()) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 0xFU];
  }
  return text;
}

std::optional<LockKey> key_of(std::string_view text) {
  const auto bytes = text.starts_with(kPrefix) ? from_digits(text.substr(kPrefix.size())) : std::string(text);
  if (!bytes || bytes->empty() || bytes->size() > LockKey::kMaxBytes) return std::nullopt;
  LockKey key(*bytes);
  if (text_of(key) != text) return std::nullopt;
  return key;
}

}  // namespace mortise::sql
