// Store URLs, taken apart and checked.
#pragma once

#include <string>
#include <string_view>

#include "mortise/table_lock_store.hpp"

namespace mortise::store {

struct StoreUrl {
  enum class Scheme { shm, memory } scheme;
  std::string path;  // shm
  SegmentOptions options;
};

// Throws std::invalid_argument, naming what is unknown or wrong.
StoreUrl parse_store_url(std::string_view url);

}  // namespace mortise::store
