// What a segment can be asked to be.
#pragma once

#include "mortise/table_lock_store.hpp"
#include "segment/creation.hpp"

namespace mortise::store {

// Throws std::invalid_argument, naming the option, its value and its range.
void check(const SegmentOptions& options);

segment::Plan plan_of(const SegmentOptions& options);

}  // namespace mortise::store
