// An owner token as the value of a key.
#pragma once

#include <string>

#include "mortise/types.hpp"

namespace mortise::store::redis {

// 16 hexadecimal digits.
inline std::string to_text(OwnerToken owner) {
  constexpr std::size_t kDigits = 16;
  std::string text(kDigits, '0');
  std::uint64_t rest = owner.as_number();
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, rest >>= 4U)
    *digit = "0123456789abcdef"[rest & 0xfU];
  return text;
}

}  // namespace mortise::store::redis
