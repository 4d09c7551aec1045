// Leases that are kept alive, or whose loss somebody wants to be told of.
#pragma once

#include <memory>
#include <stop_token>

#include "mortise/lock_store.hpp"
#include "mortise/types.hpp"
#include "sys/clock.hpp"

namespace mortise::detail {

struct WatchedLease {
  std::shared_ptr<LockStore> store;
  LockKey key;
  OwnerToken owner;
  Ttl ttl;
  sys::TimePoint expiry;  // as far as is known
};

// Watches one lease as long as it lives. One thread does it for all leases of the process; it exists while
// there are any, and a moment longer. A forked child has neither the thread nor its leases.
//
// It knows the lease by its token, so it never touches a later one of the key. When the destructor has
// returned, the token that lost_token() gave is not stopped any more; a renewal that is under way may still
// come to its end.
class LeaseWatch {
 public:
  enum class Care {
    watch,      // look whether it is lost, at each third of its ttl and at its expiry
    renew_now,  // extend it, at once and at each third of its ttl
  };
  // Throws std::system_error when there can be no more threads.
  LeaseWatch(WatchedLease lease, Care care);
  LeaseWatch(const LeaseWatch&) = delete;
  LeaseWatch& operator=(const LeaseWatch&) = delete;
  ~LeaseWatch();

  [[nodiscard]] std::stop_token lost_token() const;

  // Extends the lease in the store, for its owner, while no renewal is under way. False: it is lost.
  bool extend(Ttl ttl);

 private:
  struct Watched;
  class Keeper;
  Keeper& keeper_;
  std::shared_ptr<Watched> watched_;
};

}  // namespace mortise::detail
