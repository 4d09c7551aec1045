#include "utf8.hpp"

namespace text {

std::optional<CodePoint> first_code_point(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return CodePoint{lead, 1};
  if (lead < 0xC2 || lead > 0xF4) return std::nullopt;

  const std::size_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (text.size() < size) return std::nullopt;
  char32_t value = lead & (0x7FU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return std::nullopt;
    value = value << 6U | (byte(i) & 0x3FU);
  }

  const char32_t smallest_of_size = size == 2 ? 0x80 : size == 3 ? 0x800 : 0x10000;
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < smallest_of_size || value > 0x10FFFF || surrogate) return std::nullopt;
  return CodePoint{value, size};
}

}  // namespace text
