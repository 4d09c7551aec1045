// The default store: a lock table in a memory-mapped file, for the processes of one host.
#pragma once

#include <string>

#include "mortise/table_lock_store.hpp"

namespace mortise {

// Everyone who opens the same file shares its leases.
class ShmLockStore final : public TableLockStore {
 public:
  // Opens the segment at `path`, or makes it: whole, or not at all. Throws StoreError; a failure never
  // changes a file that exists. std::invalid_argument for options out of range.
  explicit ShmLockStore(const std::string& path, const SegmentOptions& options = {});
};

}  // namespace mortise
