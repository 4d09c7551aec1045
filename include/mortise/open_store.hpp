// Which store is used.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "mortise/lock_store.hpp"

namespace mortise {

// Opens the store that a URL names, and makes it where that needs no server:
//   shm:                    the default segment of this user
//   shm:NAME                a segment of that name, for every user that its mode admits
//   shm:/path/of/segment    a segment at that path
//       ?slots=16384        leases it can hold (see SegmentOptions)
//       &processes=1024     processes that may be attached at once
//       &mode=0600          permissions of the file
//       &guard=mutex        or guard=file: for processes of different pid namespaces (see ShapeGuard)
//     The options are used when the segment is made; one that exists is used as it is.
//   memory:                 a new table that only this process and its forked children see: for tests
// A program that is linked with another component (mortise::redis, mortise::sql) can open that component's
// URLs, too; see its header.
// Throws std::invalid_argument for an unknown scheme, option or value, and names it; StoreError when the
// store cannot be opened.
std::shared_ptr<LockStore> open_store(std::string_view url);

// The URL of the default store: the environment variable MORTISE_STORE, or "shm:" where that is not set or
// empty.
std::string default_store_url();

// The default store of this process: what set_lock_store() set, else what default_store_url() names. It is
// opened at the first call. Any thread may call it.
std::shared_ptr<LockStore> lock_store();

// Replaces the default store for locks made from now on; those that exist keep theirs. nullptr: back to
// default_store_url().
void set_lock_store(std::shared_ptr<LockStore> store);

}  // namespace mortise
