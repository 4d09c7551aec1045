// The URLs of the stores that are a table, taken apart and checked.
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

// "shm" or "memory".
bool is_table_scheme(std::string_view scheme);

// Of a URL whose scheme is one of these. Throws std::invalid_argument, naming what is unknown or wrong.
StoreUrl parse_store_url(std::string_view text);

}  // namespace mortise::store
