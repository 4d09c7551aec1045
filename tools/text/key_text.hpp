// How any bytes are shown as text that keeps to its line and its column, and how that text is read back.
//
//   \\                 a backslash
//   \n \t \r           newline, tab, carriage return
//   \xHH               any other byte, two hexadecimal digits, of: control characters, what is not UTF-8,
//                      characters that break lines or turn the direction of writing, and a space that
//                      begins or ends the text or follows another space
//   everything else    itself, in UTF-8
//
// So the text is valid UTF-8, and two spaces never stand side by side in it: they separate columns.
#pragma once

#include <string>
#include <string_view>

namespace text {

std::string escape(std::string_view bytes);

// Throws std::invalid_argument for a backslash that begins none of the escapes above.
std::string unescape(std::string_view text);

// Two hexadecimal digits for each byte.
std::string hex(std::string_view bytes);

}  // namespace text
