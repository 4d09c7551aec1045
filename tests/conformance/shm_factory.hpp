// Shared memory, for the conformance suites: a segment of its own for each test.
#pragma once

#include "conformance/conformance.hpp"
#include "mortise/shm_lock_store.hpp"
#include "support/temporary_directory.hpp"

namespace mortise::conformance {

inline StoreFactory shm_factory() {
  return {.name = "Shm",
          .make =
              [] {
                return [place = std::make_shared<test::TemporaryDirectory>()] {
                  return std::make_shared<ShmLockStore>(place->file("segment"));
                };
              },
          .wakes_waiters = true,
          .shared_between_processes = true,
          .dead_holder_freed_at_once = true};
}

}  // namespace mortise::conformance
