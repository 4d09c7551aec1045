// The header of a segment: made, and checked before anything in the file is believed.
#pragma once

#include <cstdint>
#include <string>

#include "segment/layout.hpp"

namespace mortise::segment {

// Adds what every header has: ids, seed, surroundings, checksum. The geometry and the base of fencing numbers
// are the caller's. Throws StoreError when /proc does not tell the surroundings: nothing is guessed.
Header complete(Header header);

// The header of the file, if it is a segment of these structures. Throws StoreError; has changed nothing.
Header checked_header(int fd, const std::string& name, std::uint64_t fingerprint);

bool is_of_this_boot(const Header& header);

// Throws StoreError when the segment means nothing in the namespaces of this process.
void check_namespaces(const Header& header, const std::string& name);

}  // namespace mortise::segment
