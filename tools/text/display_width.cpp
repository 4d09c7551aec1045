#include "display_width.hpp"

#include <cwchar>
#include <optional>

#include "utf8.hpp"

namespace text {

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const std::optional<CodePoint> next = first_code_point(text);
    const int columns = next ? ::wcwidth(static_cast<wchar_t>(next->value)) : -1;
    width += columns < 0 ? 1 : static_cast<std::size_t>(columns);
    text.remove_prefix(next ? next->size : 1);
  }
  return width;
}

}  // namespace text
