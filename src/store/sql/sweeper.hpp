// Removes the rows of expired leases, which nobody released.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>

#include "store/sql/database.hpp"
#include "sys/clock.hpp"

namespace mortise::sql {

// Goes along the primary key, round and round: a batch looks at a bounded number of rows, so it needs no
// index that every acquire would have to keep, and takes a bounded time. It is done by whoever uses the
// store, after their own statement, and takes a twentieth of the time at most.
class Sweeper {
 public:
  explicit Sweeper(Database& database);

  // A batch, if it is time for one. What fails is left to the next one.
  void sweep_if_due() noexcept;
  // Everything that has expired; says how much.
  std::size_t sweep_all();

 private:
  struct Batch {
    bool is_last;  // of this round
    std::size_t removed;
  };
  // Beginning after `cursor`, which it moves.
  Batch sweep_batch(std::string& cursor);

  Database& database_;
  std::mutex mutex_;  // never waited for: whoever finds it taken leaves the work to the other
  std::string cursor_;
  sys::TimePoint due_;
};

}  // namespace mortise::sql
