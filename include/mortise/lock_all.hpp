// Several keys at once, all or nothing.
//
//   auto [ran] = mortise::lock_all({"account:1", "account:2"}, 10s).run(transfer, {.timeout = 5s});
#pragma once

#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mortise/lock.hpp"

namespace mortise {

// A handle for several keys of one store, with the rules of a Lock: move-only, not shared between threads,
// releases on destruction what it acquired (C16), inert in a forked child (C17).
//
// The keys are sorted, and each counts once. It never waits for a key while it holds another, so that no
// order in which processes ask for keys makes a deadlock, and nobody waits for who is still waiting.
class LockGroup {
 public:
  // Throws std::invalid_argument when there are no keys.
  LockGroup(std::vector<LockKey> keys, Ttl ttl, std::shared_ptr<LockStore> store);
  LockGroup(LockGroup&&) noexcept;
  LockGroup& operator=(LockGroup&&) noexcept;
  ~LockGroup();

  // True: it holds all keys. False: none, for somebody holds one of them (or the wait was stopped). Throws
  // StoreError, and holds none.
  [[nodiscard]] bool acquire(const AcquireOptions& options = {});
  [[nodiscard]] bool acquire_immediately() { return acquire(); }

  // As Lock::run: fn takes nothing, a LockGroup&, or the std::stop_token of lost_token().
  template <class F>
  auto run(F&& fn, const AcquireOptions& options = {}) {
    return detail::run(*this, std::forward<F>(fn), options);
  }
  template <class F>
  auto run_immediately(F&& fn) {
    return run(std::forward<F>(fn));
  }

  // False when one of the leases was no longer ours; the others are released all the same. What a store
  // throws is thrown after the others were tried.
  bool release();
  // Throws LockNotHeldError when one of them is lost; the others may be extended by then.
  void extend();
  void extend(Ttl ttl);
  void ensure_held();

  // Is one of them lost (Lock::is_expired)?
  [[nodiscard]] bool is_expired() const;
  // Stopped when one of them is lost.
  [[nodiscard]] std::stop_token lost_token();

  // As of Lock, for all of them; the way back is restore_lock_all(). A secret.
  [[nodiscard]] std::string serialize();
  bool detach();

  // One for each key, in the order of the keys: for their fencing tokens.
  [[nodiscard]] std::span<const Lock> locks() const noexcept { return locks_; }

 private:
  friend LockGroup restore_lock_all(std::string_view text, std::shared_ptr<LockStore> store);
  explicit LockGroup(std::vector<Lock> locks);
  std::size_t acquire_others(std::size_t first, const AcquireOptions& options);
  std::vector<Lock>& require_locks();
  void release_all_quietly() noexcept;

  class Loss;
  std::vector<Lock> locks_;
  std::unique_ptr<Loss> loss_;
};

// lock_all(keys, ttl = 30s) on the default store; lock_all(keys, ttl, store) on another.
[[nodiscard]] LockGroup lock_all(std::vector<LockKey> keys, Ttl ttl = std::chrono::seconds(30));
[[nodiscard]] LockGroup lock_all(std::vector<LockKey> keys, Ttl ttl, std::shared_ptr<LockStore> store);

// The way back from LockGroup::serialize(): a handle that owns the leases and never releases them on
// destruction. Throws std::invalid_argument for anything that it did not make (C20).
[[nodiscard]] LockGroup restore_lock_all(std::string_view text);
[[nodiscard]] LockGroup restore_lock_all(std::string_view text, std::shared_ptr<LockStore> store);

}  // namespace mortise
