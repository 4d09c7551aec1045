// Named locks that expire. Start here.
//
//   auto [ran, receipt] = mortise::lock("invoice:42").run([&] { return charge(invoice); });
//   if (!ran) return;  // another worker is charging it
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "mortise/errors.hpp"
#include "mortise/lock_store.hpp"
#include "mortise/open_store.hpp"
#include "mortise/run_result.hpp"
#include "mortise/types.hpp"

namespace mortise {

// How to acquire. Made for designated initialisers: lock.acquire({.timeout = 5s}).
struct AcquireOptions {
  // How long to wait for the key. Zero: one attempt. The wait ends at the timeout, not a retry_delay later
  // (C13).
  WaitTime timeout = std::chrono::seconds(0);
  // The longest sleep between two looks where the store cannot wake a waiter; where it can, a safety net
  // only.
  WaitTime retry_delay = std::chrono::milliseconds(50);
  // Ends the wait when stop is requested. A grant that happened wins (C14). A signal handler must not request
  // it itself, for that takes a mutex: it sets a flag, and a thread requests the stop.
  std::stop_token stop{};
  // Renews the lease in the background until its release, at every third of its ttl. One thread does it for
  // all leases of the process; it is made when first needed. A store that fails is asked again until the
  // expiry. A forked child renews nothing.
  bool keep_alive = false;
};

namespace detail {
class LeaseWatch;
struct WatchedLease;
struct EndOfWatch {
  void operator()(LeaseWatch* watch) const noexcept;
};
}  // namespace detail

// A handle for one key, one TTL, one store, and at most one owner token. Move-only, and not shared between
// threads: two handles on one key exclude each other wherever they live, two threads included.
//
// The handle that acquired releases when it is destroyed, unless it was serialized, detached or moved from
// (C16). After a fork the child's copies of held handles are inert: they never touch the parent's lease
// (C17).
class Lock {
 public:
  Lock(LockKey key, Ttl ttl, std::shared_ptr<LockStore> store);
  Lock(Lock&& other) noexcept;
  Lock& operator=(Lock&& other) noexcept;
  ~Lock() {
    if (held_) release_on_destroy();
  }

  // True: this handle holds the key from now on, until its ttl is over (C04). False: somebody else holds it,
  // this handle included (not reentrant, C01), or the wait was stopped. Throws StoreError when the store
  // failed (C12).
  [[nodiscard]] bool acquire(const AcquireOptions& options = {});
  [[nodiscard]] bool acquire_immediately() { return acquire(); }

  // Acquires, calls fn, always releases. fn takes nothing, a Lock&, or the std::stop_token that tells of the
  // loss of the lease (lost_token); it is not called unless the lock was granted (C12). What fn throws leaves
  // run unchanged, after the release (C11).
  template <class F>
  auto run(F&& fn, const AcquireOptions& options = {}) {
    return detail::run(*this, std::forward<F>(fn), options);
  }
  template <class F>
  auto run_immediately(F&& fn) {
    return run(std::forward<F>(fn));
  }

  // False when the lease is no longer ours: it expired, or was never acquired (C06, C07). Throws only
  // StoreError, and then the handle still knows its token.
  bool release();

  // Sets the expiry to now + ttl; it never adds, and may shorten (C08). Throws LockNotHeldError when the
  // lease is lost or was never acquired, std::invalid_argument for a bad ttl (and changes nothing).
  void extend() { extend(ttl_); }
  void extend(Ttl ttl);

  // Throws LockNotHeldError unless this handle holds its lease at this moment. For a loop that asks at every
  // turn: in shared memory it is a look at one cache line and at a coarse clock, without a system call.
  void ensure_held();
  // Stopped when the lease is lost or its time is up: the renewer finds it lost, or a timer does, which also
  // looks at every third of the ttl whether somebody else ended it; in shared memory, whoever ends it by
  // force is noticed within a tenth of a second. Callbacks run on the library's thread: they should be short,
  // and must not throw. Not stopped by release(), serialize() and detach(), after which this handle watches
  // no longer. Throws LockNotHeldError when this handle has no lease.
  [[nodiscard]] std::stop_token lost_token();

  // Does anybody hold the key?
  [[nodiscard]] bool is_locked() const;
  // Did this handle acquire or restore a lease, not release it, and lose it (C09)?
  [[nodiscard]] bool is_expired() const;
  // The time left of whoever holds the key; nullopt when nobody does (C05).
  [[nodiscard]] std::optional<std::chrono::milliseconds> remaining_time() const;
  // A number that grows with every grant of the key: hand it to the guarded resource, which refuses smaller
  // ones. Throws LockNotHeldError when this handle has no grant.
  [[nodiscard]] std::uint64_t fencing_token() const;

  // One line of text that gives the lease to whoever passes it to restore_lock(): printable, versioned,
  // checksummed. A secret. From now on the lease outlives this handle and this process, until its release or
  // expiry (C16). Throws LockNotHeldError when this handle has no token.
  [[nodiscard]] std::string serialize();
  // The lease now lives until its release or expiry, whatever becomes of this handle or process. False: it is
  // lost.
  bool detach();

  // Cpp17TimedLockable, for std::unique_lock, std::scoped_lock (several keys without deadlock) and
  // std::condition_variable_any. Leases that are acquired so are kept alive. A std::unique_lock cannot know
  // that a lease was lost: its owns_lock() says that it was granted and not unlocked.
  //
  // lock() waits for ever; it throws std::system_error (resource_deadlock_would_occur) when this very handle
  // holds the key. unlock() never throws: a lease that is lost has ended already, and one that a failing
  // store does not release ends at its expiry.
  void lock();
  [[nodiscard]] bool try_lock() { return acquire({.keep_alive = true}); }
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(std::chrono::duration<Rep, Period> time) {
    return acquire({.timeout = time, .keep_alive = true});
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(std::chrono::time_point<Clock, Duration> time) {
    // A clock that is set back meanwhile leaves time for another wait.
    do {
      if (try_lock_for(time - Clock::now())) return true;
    } while (Clock::now() < time);
    return false;
  }
  void unlock() noexcept { detail::release_quietly(*this); }

  [[nodiscard]] const LockKey& key() const noexcept { return key_; }
  [[nodiscard]] Ttl ttl() const noexcept { return ttl_; }

  // Prints the key, never the token.
  friend std::ostream& operator<<(std::ostream& out, const Lock& handle);

 private:
  friend struct LockMaker;
  friend Lock restore_lock(std::string_view text, std::shared_ptr<LockStore> store);

  // The key is made where it stays, and moved nowhere.
  template <class Key>
  Lock(std::in_place_t, Key&& key, Ttl ttl, std::shared_ptr<LockStore>&& store)
      : key_(std::forward<Key>(key)), ttl_(ttl), store_(std::move(store)) {
    if (!store_) refuse_without_store();
  }
  [[noreturn]] static void refuse_without_store();

  // What this handle knows of the lease it was granted or restored.
  struct Held {
    OwnerToken owner;
    std::uint64_t fencing_token;
    std::uint64_t process;     // the incarnation that may use it; another one is a forked child
    bool releases_on_destroy;  // false once handed over
  };
  [[nodiscard]] LockStore& store() const;
  [[nodiscard]] const Held* held() const;
  [[nodiscard]] const Held& require_held(const char* verb) const;
  void keep_alive();
  [[nodiscard]] detail::WatchedLease known_lease(std::chrono::milliseconds left) const;
  void release_on_destroy() noexcept;

  LockKey key_;
  Ttl ttl_;
  std::shared_ptr<LockStore> store_;
  std::optional<Held> held_;
  std::unique_ptr<detail::LeaseWatch, detail::EndOfWatch> watch_;  // of a lease that is kept alive or watched
};

// lock(key, ttl = 30s) makes a Lock on the default store; lock(key, ttl, store) on another. A function
// object, not a function: with a chrono argument, argument-dependent look-up would find std::lock beside it.
struct LockMaker {
  template <std::convertible_to<LockKey> Key>
  Lock operator()(Key&& key, Ttl ttl = std::chrono::seconds(30)) const {
    return {std::in_place, std::forward<Key>(key), ttl, lock_store()};
  }
  template <std::convertible_to<LockKey> Key>
  Lock operator()(Key&& key, Ttl ttl, std::shared_ptr<LockStore> store) const {
    return {std::in_place, std::forward<Key>(key), ttl, std::move(store)};
  }
};
inline constexpr LockMaker lock{};

// The way back from serialize(): a handle that owns the lease and never releases it on destruction. Throws
// std::invalid_argument for anything that serialize() did not make; a text of another version names the
// version (C20).
[[nodiscard]] Lock restore_lock(std::string_view text);
[[nodiscard]] Lock restore_lock(std::string_view text, std::shared_ptr<LockStore> store);

}  // namespace mortise
