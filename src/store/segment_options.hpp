// The ranges of what a segment can be asked to be.
#pragma once

#include "mortise/table_lock_store.hpp"

namespace mortise::store {

// Throws std::invalid_argument, naming the option, its value and its range.
void check(const SegmentOptions& options);

}  // namespace mortise::store
