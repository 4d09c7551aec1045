#include "support/map_lock_store.hpp"

namespace mortise::test {

std::optional<Grant> MapLockStore::acquire(const LockKey& key, OwnerToken owner, Ttl ttl) {
  const std::lock_guard guard(mutex_);
  if (find(key) != leases_.end()) return std::nullopt;
  leases_.insert_or_assign(std::string(key.bytes()), Lease{owner, Clock::now() + ttl.milliseconds()});
  return Grant{++last_fencing_token_};
}

bool MapLockStore::release(const LockKey& key, OwnerToken owner) {
  const std::lock_guard guard(mutex_);
  const auto lease = find(key, owner);
  if (lease == leases_.end()) return false;
  leases_.erase(lease);
  return true;
}

bool MapLockStore::extend(const LockKey& key, OwnerToken owner, Ttl ttl) {
  const std::lock_guard guard(mutex_);
  const auto lease = find(key, owner);
  if (lease == leases_.end()) return false;
  lease->second.expiry = Clock::now() + ttl.milliseconds();
  return true;
}

bool MapLockStore::is_held_by(const LockKey& key, OwnerToken owner) {
  const std::lock_guard guard(mutex_);
  return find(key, owner) != leases_.end();
}

bool MapLockStore::is_locked(const LockKey& key) {
  const std::lock_guard guard(mutex_);
  return find(key) != leases_.end();
}

std::optional<std::chrono::milliseconds> MapLockStore::remaining_time(const LockKey& key) {
  const std::lock_guard guard(mutex_);
  const auto lease = find(key);
  if (lease == leases_.end()) return std::nullopt;
  return std::chrono::ceil<std::chrono::milliseconds>(lease->second.expiry - Clock::now());
}

MapLockStore::Leases::iterator MapLockStore::find(const LockKey& key) {
  const auto lease = leases_.find(key.bytes());
  return lease != leases_.end() && lease->second.expiry > Clock::now() ? lease : leases_.end();
}

MapLockStore::Leases::iterator MapLockStore::find(const LockKey& key, OwnerToken owner) {
  const auto lease = find(key);
  return lease != leases_.end() && lease->second.owner == owner ? lease : leases_.end();
}

}  // namespace mortise::test
