// The smallest store that keeps the contract: what a store of one's own looks like.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "mortise/lock_store.hpp"

namespace mortise::test {

// For the threads of one process: a mutex and a map. Waiting is left to LockStore's default.
class MapLockStore : public LockStore {
 public:
  std::optional<Grant> acquire(const LockKey& key, OwnerToken owner, Ttl ttl) override;
  bool release(const LockKey& key, OwnerToken owner) override;
  bool extend(const LockKey& key, OwnerToken owner, Ttl ttl) override;
  bool is_held_by(const LockKey& key, OwnerToken owner) override;
  bool is_locked(const LockKey& key) override;
  std::optional<std::chrono::milliseconds> remaining_time(const LockKey& key) override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Lease {
    OwnerToken owner;
    Clock::time_point expiry;
  };
  using Leases = std::map<std::string, Lease, std::less<>>;

  // The unexpired lease of the key, or end(). Under mutex_.
  Leases::iterator find(const LockKey& key);
  Leases::iterator find(const LockKey& key, OwnerToken owner);

  std::mutex mutex_;
  Leases leases_;
  std::uint64_t last_fencing_token_ = 0;
};

}  // namespace mortise::test
