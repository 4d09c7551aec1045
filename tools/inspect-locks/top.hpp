// The live screen.
#pragma once

#include "mortise/inspect.hpp"
#include "options.hpp"

namespace inspect_locks {

// Until the user quits; then the terminal is as it was. Throws std::invalid_argument when there is none, and
// what the view throws.
void show_top(const mortise::StoreView& view, const Options& options);

}  // namespace inspect_locks
