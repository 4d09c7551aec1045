// The surroundings in which a segment means something: this boot, this pid namespace, this time namespace.
#pragma once

#include <string>

#include "segment/layout.hpp"

namespace mortise::segment {

// Fills in the header's part. Throws StoreError when /proc does not tell: nothing is guessed.
void stamp_surroundings(Header& header);

// Throws StoreError when the segment belongs elsewhere.
void check_surroundings(const Header& header, const std::string& path);

}  // namespace mortise::segment
