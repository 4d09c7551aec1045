// A lock table in a segment of shared memory: what ShmLockStore and MemoryLockStore have in common.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "mortise/lock_store.hpp"

namespace mortise {

namespace table {
class LockTable;
}

// What excludes others while the shape of the table changes: while a key that is new to it gets a slot.
// Leases themselves are not guarded by it, and known keys do not pay for it.
enum class ShapeGuard {
  robust_mutex,  // the faster one. The processes must share a pid namespace and a C library
  file_lock,  // for processes of different pid namespaces (containers) or C libraries of one host: a new key
              // costs two system calls more
};

// How a segment is made. One that exists is used as it is.
struct SegmentOptions {
  std::uint32_t slots =
      16384;  // leases it can hold of keys of up to 24 bytes; 64 to 16,777,216, rounded up to a multiple of
              // 64. Besides, as many of keys of 25 to 88 bytes, a quarter of that of keys of 89 to 216, and a
              // sixteenth of longer ones
  std::uint32_t processes = 1024;  // processes attached at once; 1 to 65,535
  unsigned mode = 0600;            // permissions of the file, whatever the umask
  ShapeGuard guard = ShapeGuard::robust_mutex;
  bool only_own_file =
      false;  // refuse a file that belongs to another user: whoever can write it is to be trusted
};

// The lease of a process ends with the process, unless it was serialized or detached. Closing a store never
// ends a lease, and stores on one segment may be opened any number of times.
class TableLockStore : public LockStore {
 public:
  ~TableLockStore() override;

  std::optional<Grant> acquire(const LockKey& key, OwnerToken owner, Ttl ttl) final;
  bool release(const LockKey& key, OwnerToken owner) final;
  bool extend(const LockKey& key, OwnerToken owner, Ttl ttl) final;
  bool is_held_by(const LockKey& key, OwnerToken owner) final;
  bool is_locked(const LockKey& key) final;
  std::optional<std::chrono::milliseconds> remaining_time(const LockKey& key) final;
  bool outlive_process(const LockKey& key, OwnerToken owner) final;
  std::string end_of(const LockKey& key, OwnerToken owner) final;
  std::optional<std::uint64_t> forced_ends() noexcept final;
  // Sleeps in the kernel until the key is released or expires; looks for a dead holder every retry_delay.
  std::optional<Grant> acquire_within(const LockKey& key, OwnerToken owner, Ttl ttl,
                                      const WaitOptions& options) final;

  // For who starts a program under a lease of this process: a new descriptor, close-on-exec, of what tells
  // the others that this process lives. While any process has a copy of it, a lease that this process holds
  // here does not end with this process (but with its release or expiry, as ever). -1: this process has
  // acquired nothing here yet, or has no descriptor left. The caller closes it; any thread may call it, and a
  // forked child gets -1.
  [[nodiscard]] int duplicate_lifeline() const;

 protected:
  explicit TableLockStore(std::shared_ptr<table::LockTable> table);

 private:
  std::shared_ptr<table::LockTable> table_;
};

}  // namespace mortise
