// Named locks that expire. Start here.
//
//   auto [ran, receipt] = mortise::lock("invoice:42").run([&] { return charge(invoice); });
//   if (!ran) return;  // another worker is charging it
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <stop_token>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "mortise/errors.hpp"
#include "mortise/lock_store.hpp"
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
  // Ends the wait when stop is requested. A grant that happened wins (C14).
  std::stop_token stop{};
};

template <class R>
class RunResult;

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
  ~Lock();

  // True: this handle holds the key from now on, until its ttl is over (C04). False: somebody else holds it,
  // this handle included (not reentrant, C01), or the wait was stopped. Throws StoreError when the store
  // failed (C12).
  [[nodiscard]] bool acquire(const AcquireOptions& options = {});
  [[nodiscard]] bool acquire_immediately() { return acquire(); }

  // Acquires, calls fn, always releases. fn takes nothing or a Lock&; it is not called unless the lock was
  // granted (C12). What fn throws leaves run unchanged, after the release (C11).
  template <class F>
  auto run(F&& fn, const AcquireOptions& options = {});
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

  [[nodiscard]] const LockKey& key() const noexcept { return key_; }
  [[nodiscard]] Ttl ttl() const noexcept { return ttl_; }

  // Prints the key, never the token.
  friend std::ostream& operator<<(std::ostream& out, const Lock& handle);

 private:
  friend Lock restore_lock(std::string_view text, std::shared_ptr<LockStore> store);

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
  bool release_after_run() noexcept;
  void release_on_destroy() noexcept;

  LockKey key_;
  Ttl ttl_;
  std::shared_ptr<LockStore> store_;
  std::optional<Held> held_;
};

// lock(key, ttl = 30s) makes a Lock on the default store; lock(key, ttl, store) on another. A function
// object, not a function: with a chrono argument, argument-dependent look-up would find std::lock beside it.
struct LockMaker {
  Lock operator()(LockKey key, Ttl ttl = std::chrono::seconds(30)) const;
  Lock operator()(LockKey key, Ttl ttl, std::shared_ptr<LockStore> store) const;
};
inline constexpr LockMaker lock{};

// The way back from serialize(): a handle that owns the lease and never releases it on destruction. Throws
// std::invalid_argument for anything that serialize() did not make; a text of another version names the
// version (C20).
[[nodiscard]] Lock restore_lock(std::string_view text);
[[nodiscard]] Lock restore_lock(std::string_view text, std::shared_ptr<LockStore> store);

// What run() answers: did fn run, what did it return, was the lease lost meanwhile.
// Binds as auto [ran, result], result a std::optional; for a void fn as auto [ran]. A returned reference is
// kept as a std::reference_wrapper.
template <class R>
class [[nodiscard]] RunResult {
 public:
  using Value = std::conditional_t<std::is_reference_v<R>, std::reference_wrapper<std::remove_reference_t<R>>,
                                   std::remove_cv_t<R>>;

  static RunResult not_granted() { return RunResult(); }
  RunResult(Value value, bool lost) : value_(std::move(value)), lost_(lost) {}

  explicit operator bool() const noexcept { return value_.has_value(); }
  // The lease ended before fn did, or could not be released: what fn did was not exclusive to its end (C11).
  [[nodiscard]] bool lost() const noexcept { return lost_; }
  [[nodiscard]] const std::optional<Value>& result() const& noexcept { return value_; }
  [[nodiscard]] std::optional<Value>&& result() && noexcept { return std::move(value_); }

  template <std::size_t I>
  [[nodiscard]] decltype(auto) get() && {
    if constexpr (I == 0) {
      return value_.has_value();
    } else {
      return std::move(*this).result();
    }
  }
  template <std::size_t I>
  [[nodiscard]] decltype(auto) get() const& {
    if constexpr (I == 0) {
      return value_.has_value();
    } else {
      return result();
    }
  }

 private:
  // Spelt out, or GCC 12 takes the empty optional that is returned in registers for one that is read
  // uninitialized.
  RunResult() : value_(std::nullopt) {}
  std::optional<Value> value_;
  bool lost_ = false;
};

template <>
class [[nodiscard]] RunResult<void> {
 public:
  static RunResult not_granted() { return {false, false}; }
  RunResult(bool ran, bool lost) : ran_(ran), lost_(lost) {}

  explicit operator bool() const noexcept { return ran_; }
  [[nodiscard]] bool lost() const noexcept { return lost_; }

  template <std::size_t I>
  [[nodiscard]] bool get() const {
    return ran_;
  }

 private:
  bool ran_;
  bool lost_;
};

template <class F>
auto Lock::run(F&& fn, const AcquireOptions& options) {
  auto call = [&]() -> decltype(auto) {
    if constexpr (std::is_invocable_v<F, Lock&>) {
      return std::invoke(std::forward<F>(fn), *this);
    } else {
      return std::invoke(std::forward<F>(fn));
    }
  };
  using R = decltype(call());
  if (!acquire(options)) return RunResult<R>::not_granted();

  struct ReleaseOnThrow {
    Lock* lock;
    ~ReleaseOnThrow() {
      if (lock != nullptr) lock->release_after_run();
    }
  } guard{this};
  if constexpr (std::is_void_v<R>) {
    call();
    guard.lock = nullptr;
    return RunResult<void>(true, !release_after_run());
  } else {
    typename RunResult<R>::Value value(call());
    guard.lock = nullptr;
    const bool released = release_after_run();
    return RunResult<R>(std::move(value), !released);
  }
}

}  // namespace mortise

template <class R>
struct std::tuple_size<mortise::RunResult<R>>
    : std::integral_constant<std::size_t, std::is_void_v<R> ? 1 : 2> {};
template <class R>
struct std::tuple_element<0, mortise::RunResult<R>> {
  using type = bool;
};
template <class R>
struct std::tuple_element<1, mortise::RunResult<R>> {
  using type = std::optional<typename mortise::RunResult<R>::Value>;
};
