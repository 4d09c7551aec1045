#pragma once

#include <cstddef>
#include <string_view>

namespace text {

// The columns that a terminal gives to UTF-8 text: two for a wide character, none for a combining mark. The
// widths are those of the thread's LC_CTYPE, which has to be a UTF-8 one; in any other a character counts as
// one column.
std::size_t display_width(std::string_view text);

// As much of the text as fits into so many columns.
std::string_view fitting(std::string_view text, std::size_t columns);

}  // namespace text
