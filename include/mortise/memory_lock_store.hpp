// The same lock table without a file: for tests.
#pragma once

#include "mortise/table_lock_store.hpp"

namespace mortise {

// A table that only this process and the children it forks can see. It is the shared-memory store's own table
// on an anonymous mapping, so what a test proves on it holds for that store, the death of a holder included.
class MemoryLockStore final : public TableLockStore {
 public:
  // Throws StoreError when there is no memory. `options.mode` has no meaning here.
  explicit MemoryLockStore(const SegmentOptions& options = {});
};

}  // namespace mortise
