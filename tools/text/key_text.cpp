#include "key_text.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <stdexcept>

#include "utf8.hpp"

namespace text {
namespace {

struct Shorthand {
  char byte;
  char letter;
};
constexpr Shorthand kShorthands[] = {{'\\', '\\'}, {'\n', 'n'}, {'\t', 't'}, {'\r', 'r'}};

bool disturbs_a_line(char32_t c) {
  struct Range {
    char32_t first;
    char32_t last;
  };
  constexpr Range kRanges[] = {
      {0x00, 0x1F},     {'\\', '\\'}, {0x7F, 0x9F},  // DEL and the C1 controls, which terminals obey as well
      {0x61C, 0x61C},                                // Arabic letter mark
      {0x200E, 0x200F},                              // left-to-right and right-to-left marks
      {0x2028, 0x202E},  // line and paragraph separators, embeddings and overrides of direction
      {0x2066, 0x2069},  // isolates
  };
  return std::ranges::any_of(kRanges, [c](Range range) { return range.first <= c && c <= range.last; });
}

void append_escape(std::string& text, char byte) {
  text += '\\';
  const auto* const shorthand = std::ranges::find(kShorthands, byte, &Shorthand::byte);
  if (shorthand != std::end(kShorthands)) {
    text += shorthand->letter;
    return;
  }
  text += 'x' + hex({&byte, 1});
}

// The byte that `text`, what follows a backslash, stands for; takes the escape off the front of it.
std::optional<char> take_escape(std::string_view& text) {
  if (text.empty()) return std::nullopt;
  const auto* const shorthand = std::ranges::find(kShorthands, text.front(), &Shorthand::letter);
  if (shorthand != std::end(kShorthands)) {
    text.remove_prefix(1);
    return shorthand->byte;
  }
  constexpr std::size_t kHexEscape = 3;
  if (text.front() != 'x' || text.size() < kHexEscape) return std::nullopt;
  unsigned char value = 0;
  const char* const end = text.data() + kHexEscape;
  const auto [parsed, error] = std::from_chars(text.data() + 1, end, value, 16);
  if (error != std::errc() || parsed != end) return std::nullopt;
  text.remove_prefix(kHexEscape);
  return static_cast<char>(value);
}

}  // namespace

std::string hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string digits;
  digits.reserve(2 * bytes.size());
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    digits += {kDigits[value >> 4U], kDigits[value & 0xFU]};
  }
  return digits;
}

std::string escape(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const std::optional<CodePoint> next = first_code_point(bytes);
    const std::string_view piece = bytes.substr(0, next ? next->size : 1);
    bytes.remove_prefix(piece.size());

    const bool stray_space = piece == " " && (text.empty() || text.back() == ' ' || bytes.empty());
    if (next && !disturbs_a_line(next->value) && !stray_space) {
      text += piece;
    } else {
      for (const char byte : piece) append_escape(text, byte);
    }
  }
  return text;
}

std::string unescape(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    const char next = text.front();
    text.remove_prefix(1);
    if (next != '\\') {
      bytes += next;
      continue;
    }
    const std::string_view escape_sequence = text;
    const std::optional<char> byte = take_escape(text);
    if (!byte) {
      throw std::invalid_argument("not an escape: '\\" + escape(escape_sequence.substr(0, 3)) +
                                  R"('; there are \\, \n, \t, \r and \xHH)");
    }
    bytes += *byte;
  }
  return bytes;
}

}  // namespace text
