// Keys are bytes, and SQL has texts.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mortise/types.hpp"

namespace mortise::sql {

// The key itself if it is UTF-8 without a NUL and does not begin with "\x"; otherwise "\x" and the
// hexadecimal digits of its bytes. So no two keys have the same text.
std::string text_of(const LockKey& key);

// The way back; nullopt: no key of ours has that text, another program wrote it.
std::optional<LockKey> key_of(std::string_view text);

}  // namespace mortise::sql
