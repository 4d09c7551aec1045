// Waiting for a key: try, sleep, try again.
#pragma once

#include "mortise/types.hpp"
#include "table/lock_table.hpp"

namespace mortise::table {

// acquire() until it is anything but busy, the time is up or stop is requested.
LockTable::Attempt acquire_within(LockTable& table, const LockKey& key, OwnerToken owner, Ttl ttl,
                                  const WaitOptions& options);

}  // namespace mortise::table
