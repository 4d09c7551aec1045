// The memory store, for the conformance suites. It has no second connection: everybody uses the same object,
// and forked children their copy of it.
#pragma once

#include "conformance/conformance.hpp"
#include "mortise/memory_lock_store.hpp"

namespace mortise::conformance {

inline StoreFactory memory_factory() {
  return {.name = "Memory",
          .make = [] { return [store = std::make_shared<MemoryLockStore>()] { return store; }; },
          .wakes_waiters = true,
          .shared_between_processes = true,
          .dead_holder_freed_at_once = true};
}

}  // namespace mortise::conformance
