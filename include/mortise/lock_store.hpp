// The contract between Lock and whatever keeps the leases. Users of locks need only lock.hpp; this header is
// for those who write a store, and the conformance suite is how they find out whether they got it right.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "mortise/errors.hpp"
#include "mortise/types.hpp"

namespace mortise {

// What an acquire gives: the lease exists, and this number is greater than that of every earlier grant of the
// key (C03).
struct Grant {
  std::uint64_t fencing_token;
};

// Every function may be called by any thread at any time, also in a forked child. Failures of the store
// itself are StoreErrors, never a false (C12). An expired lease is free for all purposes (C05).
class LockStore {
 public:
  LockStore() = default;
  LockStore(const LockStore&) = delete;
  LockStore& operator=(const LockStore&) = delete;
  virtual ~LockStore() = default;

  // Grants the key to `owner` until now + ttl, in one atomic step, if nobody holds it (C01, C02). `owner` is
  // fresh: the same token is offered again only while no answer said that it was granted.
  virtual std::optional<Grant> acquire(const LockKey& key, OwnerToken owner, Ttl ttl) = 0;

  // Ends the lease if `owner` holds it unexpired; otherwise changes nothing and says false (C06, C07).
  virtual bool release(const LockKey& key, OwnerToken owner) = 0;

  // Sets the expiry to now + ttl if `owner` holds it unexpired; otherwise changes nothing and says false
  // (C08).
  virtual bool extend(const LockKey& key, OwnerToken owner, Ttl ttl) = 0;

  // Does `owner` hold the key, unexpired?
  virtual bool is_held_by(const LockKey& key, OwnerToken owner) = 0;

  // Does anybody?
  virtual bool is_locked(const LockKey& key) = 0;

  // The time left of whoever holds the key; nullopt when nobody does.
  virtual std::optional<std::chrono::milliseconds> remaining_time(const LockKey& key) = 0;

  // Lets the lease outlive the process that acquired it, until its release or expiry: it is being handed
  // over. The default suits a store that does not free the leases of dead processes.
  virtual bool outlive_process(const LockKey& key, OwnerToken owner) { return is_held_by(key, owner); }

  // How the lease of `owner` ended, if the store knows more than that it is over, as part of a sentence: "it
  // was ...". For the LockNotHeldError of its holder, who has found it lost.
  virtual std::string end_of(const LockKey& /*key*/, OwnerToken /*owner*/) { return {}; }

  // A number that changes when anybody ends a lease by force: whoever watches leases then looks at all of
  // them at once. It is asked ten times a second, and must cost next to nothing. nullopt: the store cannot
  // tell, and leases are looked at every third of their ttl.
  virtual std::optional<std::uint64_t> forced_ends() noexcept { return std::nullopt; }

  // acquire(), again and again until it is granted, the time is up (a last look included) or stop is
  // requested. The default looks every retry_delay; a store that can wake a sleeper overrides it (C13, C14,
  // C15).
  virtual std::optional<Grant> acquire_within(const LockKey& key, OwnerToken owner, Ttl ttl,
                                              const WaitOptions& options);
};

}  // namespace mortise
