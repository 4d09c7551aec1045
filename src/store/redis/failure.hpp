// The one place where what a server says, or does not say, becomes a StoreError.
#pragma once

#include <string_view>

#include "store/redis/reply.hpp"

namespace mortise::store::redis {

// `verb` is what was to be done, such as "acquire". Of a reply that is an error, none, or none that was
// expected.
[[noreturn]] void throw_failure(const Reply& reply, std::string_view verb, std::string_view server);

// Of the sentences with which a server says that it can't do anything now, but another one might, or it
// itself in a moment.
bool is_passing(const Reply& reply);

}  // namespace mortise::store::redis
