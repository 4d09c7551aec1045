// Leases on a Redis server, for the processes of several hosts. In the component mortise::redis.
#pragma once

#include <atomic>
#include <memory>
#include <string_view>

#include "mortise/lock_store.hpp"

namespace mortise {

// A program that is linked with mortise::redis can open, by open_store() and by MORTISE_STORE:
//   redis://[user[:password]@]host[:6379][/db]
//   redis+unix:///run/redis.sock                    a unix socket; the database by &db=1
//   redis+sentinel://host1[:26379],host2/name       the master that sentinels call by this name
//   redis+cluster://host1[:6379],host2              a cluster, some of whose nodes these are
//       ?prefix=mortise:      what the names of all keys begin with
//       &timeout=2s           the longest time that an operation may take, reconnecting and repeating
//       included &connect_timeout=2s   the longest time to connect &min_replicas=1       a grant must be on
//       so many replicas, or it is undone and a StoreError &wait=500ms           how long it may take to get
//       there &db=0                 the database; a cluster has none
//   User, password, path and prefix may be percent-encoded. Redis 6 or newer.
//
// A lease is the key prefix + key, with the owner token in hexadecimal as its value and an expiry in
// milliseconds: `SET key owner PX ttl NX`. Programs in other languages that follow that layout exclude ours
// and are excluded.
//
// Leases end by release or expiry; a dead holder's lasts until its expiry. Time is the server's (C25). Every
// function is one round trip and throws StoreError within `timeout` when the server failed (C22); a waiter
// within its own timeout plus that. A command whose answer is lost is repeated where that is safe; an acquire
// that stays in doubt is a StoreError, and undone in the background (C23).
//
// What a server loses, it loses: replication is asynchronous, so a failover may forget the last grants. The
// fencing number is the answer to that; docs/stores/redis.md has the details.
class RedisLockStore final : public LockStore {
 public:
  // Connects when it is first used. Throws std::invalid_argument for a URL that is none of these.
  explicit RedisLockStore(std::string_view url);
  // May take as long as `timeout` when there are acquires to be undone.
  ~RedisLockStore() override;

  std::optional<Grant> acquire(const LockKey& key, OwnerToken owner, Ttl ttl) override;
  bool release(const LockKey& key, OwnerToken owner) override;
  bool extend(const LockKey& key, OwnerToken owner, Ttl ttl) override;
  bool is_held_by(const LockKey& key, OwnerToken owner) override;
  bool is_locked(const LockKey& key) override;
  std::optional<std::chrono::milliseconds> remaining_time(const LockKey& key) override;
  // A release, and an extension to an earlier time, wakes one waiter.
  std::optional<Grant> acquire_within(const LockKey& key, OwnerToken owner, Ttl ttl,
                                      const WaitOptions& options) override;

 private:
  class Session;  // of one process: a forked child makes its own, and leaves its parent's alone
  Session& session();

  std::atomic<Session*> session_;
};

}  // namespace mortise
