// A file in memory.
#pragma once

#include <boost/interprocess/mapped_region.hpp>
#include <cstddef>
#include <cstdint>
#include <string>

namespace mortise::segment {

using Mapping = boost::interprocess::mapped_region;

enum class Access { read_only, read_write };

// The first `bytes` of the file. Throws StoreError.
Mapping map(int fd, std::uint64_t bytes, Access access, const std::string& name);

inline std::byte* begin(const Mapping& mapping) {
  return static_cast<std::byte*>(mapping.get_address());
}

}  // namespace mortise::segment
