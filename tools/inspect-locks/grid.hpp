// Rows of cells as lines of text.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace inspect_locks {

enum class Style { plain, heading, notable, alarming };

struct Row {
  std::vector<std::string> cells;
  Style style = Style::plain;
};

// The width of each column: that of its widest cell, but for very wide ones.
std::vector<std::size_t> column_widths(std::span<const Row> rows);
// The cells of a row, at least two spaces apart. Nothing is ever cut: a cell that is wider than its column
// pushes the rest of its own line to the right.
std::string line_of(const Row& row, std::span<const std::size_t> widths);

// All of them, each on its line; in colours or without.
std::string render_grid(std::span<const Row> rows, bool colours);

// Is standard output a terminal that shows colours, and does the user want them (NO_COLOR)?
bool wants_colours();

}  // namespace inspect_locks
