#include "display_width.hpp"

#include <cwchar>
#include <optional>

#include "utf8.hpp"

namespace text {

namespace {

struct Piece {
  std::size_t bytes;
  std::size_t columns;
};

Piece first_piece(std::string_view text) {
  const std::optional<CodePoint> next = first_code_point(text);
  const int columns = next ? ::wcwidth(static_cast<wchar_t>(next->value)) : -1;
  return {next ? next->size : 1, columns < 0 ? 1 : static_cast<std::size_t>(columns)};
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const Piece next = first_piece(text);
    width += next.columns;
    text.remove_prefix(next.bytes);
  }
  return width;
}

std::string_view fitting(std::string_view text, std::size_t columns) {
  std::size_t size = 0;
  while (size < text.size()) {
    const Piece next = first_piece(text.substr(size));
    if (next.columns > columns) break;
    columns -= next.columns;
    size += next.bytes;
  }
  return text.substr(0, size);
}

}  // namespace text
