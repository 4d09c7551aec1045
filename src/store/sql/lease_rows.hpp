// What the rows of a lock table say.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

#include "mortise/types.hpp"
#include "store/sql/numbers.hpp"

namespace mortise::sql {

// An owner token as it stands in a row.
inline std::string text_of(OwnerToken owner) {
  return std::to_string(owner.as_number());
}

// The time left of a lease that was found: at least 0; another program's that never expires is as one of the
// longest ttl.
inline std::chrono::milliseconds time_left(std::string_view text) {
  if (text.empty()) return Ttl::kMax;
  return std::chrono::milliseconds(std::max<std::int64_t>(to_number(text), 0));
}

}  // namespace mortise::sql
