// Named locks between processes, that expire. All of mortise, in reading order.
#pragma once

// clang-format off
#include "mortise/lock.hpp"               // start here: lock(key).run(fn)
#include "mortise/lock_all.hpp"           // several keys at once
#include "mortise/run_result.hpp"         // what run() answers
#include "mortise/open_store.hpp"         // which store is used
#include "mortise/errors.hpp"             // what can go wrong
#include "mortise/types.hpp"              // keys, tokens, times
#include "mortise/lock_store.hpp"         // the contract of a store
#include "mortise/table_lock_store.hpp"   // a lock table in shared memory
#include "mortise/shm_lock_store.hpp"     // in a file: the default store
#include "mortise/memory_lock_store.hpp"  // without a file: for tests
#include "mortise/inspect.hpp"            // who holds what, and whether it is whole
