// Strict UTF-8, one code point at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace text {

struct CodePoint {
  char32_t value;
  std::size_t size;  // bytes it takes in UTF-8
};

// The code point that `text`, which is not empty, begins with; nullopt when these bytes are not UTF-8
// (overlong forms and surrogates included).
std::optional<CodePoint> first_code_point(std::string_view text);

}  // namespace text
