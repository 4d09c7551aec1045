// Numbers in the rows of a database.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "mortise/errors.hpp"

namespace mortise::sql {

inline std::int64_t to_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) {
    throw StoreError(StoreErrc::incompatible, "a column of the lock table holds \"" + std::string(text) +
                                                  "\" where a whole number was expected");
  }
  return number;
}

}  // namespace mortise::sql
