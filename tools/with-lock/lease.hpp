// The lease under which the command runs, as several processes have it in hand.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "mortise/lock_store.hpp"
#include "mortise/types.hpp"

namespace with_lock {

// Known by its token, so that any process which inherits it can extend and release it: a mortise::Lock of the
// parent is inert in a forked child.
class Lease {
 public:
  enum class Life { of_this_process, handed_over };

  Lease(std::shared_ptr<mortise::LockStore> store, mortise::LockKey key, mortise::Ttl ttl, Life life)
      : store_(std::move(store)), key_(std::move(key)), ttl_(ttl), life_(life) {}

  // False: somebody else holds the key, or stop was requested.
  bool acquire(const mortise::WaitOptions& options);
  // False: the lease is lost.
  [[nodiscard]] bool extend() const;
  [[nodiscard]] bool release() const;

  // Of a lost lease: how it ended, if the store knows; else empty.
  [[nodiscard]] std::string how_it_ended() const { return store_->end_of(key_, owner_); }
  // LockStore::forced_ends.
  [[nodiscard]] std::optional<std::uint64_t> forced_ends() const { return store_->forced_ends(); }

  // A new descriptor, close-on-exec: while any process has a copy, the lease does not end by the death of
  // this one. -1: no death ends this lease. Throws std::system_error when there is no descriptor left.
  [[nodiscard]] int lifeline() const;

  [[nodiscard]] const mortise::LockKey& key() const { return key_; }
  [[nodiscard]] mortise::Ttl ttl() const { return ttl_; }
  [[nodiscard]] std::uint64_t fencing_token() const { return fencing_token_; }
  // Of a lease that is handed over: what restore_lock() understands.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  bool acquire_to_hand_over(const mortise::WaitOptions& options);

  std::shared_ptr<mortise::LockStore> store_;
  mortise::LockKey key_;
  mortise::Ttl ttl_;
  Life life_;
  mortise::OwnerToken owner_ = mortise::OwnerToken::generate();
  std::uint64_t fencing_token_ = 0;
  std::string text_;
};

}  // namespace with_lock
