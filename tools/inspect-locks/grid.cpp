#include "grid.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "text/display_width.hpp"

namespace inspect_locks {
namespace {

constexpr std::size_t kWidestAlignedCell = 40;

std::string_view colour_of(Style style) {
  switch (style) {
    case Style::heading:
      return "\x1b[1m";
    case Style::notable:
      return "\x1b[33m";
    case Style::alarming:
      return "\x1b[31m";
    default:
      return "";
  }
}

}  // namespace

std::vector<std::size_t> column_widths(std::span<const Row> rows) {
  std::vector<std::size_t> widths(rows.empty() ? 0 : rows.front().cells.size());
  for (const Row& row : rows) {
    for (std::size_t column = 0; column < widths.size(); ++column) {
      const std::size_t width = text::display_width(row.cells[column]);
      if (width <= kWidestAlignedCell) widths[column] = std::max(widths[column], width);
    }
  }
  return widths;
}

std::string line_of(const Row& row, std::span<const std::size_t> widths) {
  std::string line;
  for (std::size_t column = 0; column + 1 < widths.size(); ++column) {
    const std::size_t width = text::display_width(row.cells[column]);
    line += row.cells[column];
    line.append(std::max(widths[column], width) - width + 2, ' ');
  }
  return line += row.cells.back();
}

std::string render_grid(std::span<const Row> rows, bool colours) {
  const auto widths = column_widths(rows);
  std::string text;
  for (const Row& row : rows) {
    const std::string_view colour = colours ? colour_of(row.style) : "";
    text.append(colour).append(line_of(row, widths)).append(colour.empty() ? "" : "\x1b[0m").append("\n");
  }
  return text;
}

bool wants_colours() {
  const char* const no_colour = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  return isatty(STDOUT_FILENO) == 1 && (no_colour == nullptr || *no_colour == '\0') && terminal != nullptr &&
         std::string_view(terminal) != "dumb";
}

}  // namespace inspect_locks
