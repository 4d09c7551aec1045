// Leases in a segment. It knows nothing of stores. Nothing here throws but for want of memory; acquire()
// throws StoreError in a child that was forked into namespaces where the segment means nothing.
//
// The protocol and the reasons for it are in docs/design/lease-protocol.md.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "mortise/types.hpp"
#include "segment/death_watch.hpp"
#include "segment/segment.hpp"
#include "table/geometry.hpp"
#include "table/stripe.hpp"

namespace mortise::table {

class LockTable {
 public:
  static segment::Plan plan(std::uint32_t slots, std::uint32_t processes, segment::Guard guard);
  // False when the header's geometry is not that of the mapped body.
  static bool fits(const segment::Segment& segment);

  // Of a segment that fits.
  explicit LockTable(std::shared_ptr<segment::Segment> segment);

  enum class Outcome {
    granted,
    busy,          // somebody holds the key
    full,          // no slot where the key may live is free
    stalled,       // the mutex of the key's stripe stays locked
    unusable,      // the mutex of the key's stripe is broken
    not_attached,  // this process cannot attach
    replaced,      // the segment's file is gone: others may be using a new one
  };
  struct Attempt {
    Outcome outcome;
    sys::TimePoint since = {};  // stalled: when that began
    std::uint64_t fence = 0;    // granted
    Slot* slot = nullptr;       // busy: where
    Lease seen = {};            // busy: the lease in the way
    std::uint32_t shaper = 0;   // stalled: the binding of the process in the way
    int error = 0;              // not_attached: the errno, EUSERS when every process slot is taken
  };
  // `patience` bounds the wait for a stripe's mutex, which only a key that is new to the table needs.
  Attempt acquire(const LockKey& key, OwnerToken owner, Ttl ttl, std::chrono::nanoseconds patience);

  bool release(const LockKey& key, OwnerToken owner);
  bool extend(const LockKey& key, OwnerToken owner, Ttl ttl);
  bool unbind(const LockKey& key, OwnerToken owner);
  // `hint`: 0, or what the last call for this lease left there.
  [[nodiscard]] bool is_held_by(const LockKey& key, OwnerToken owner, std::uint64_t& hint) const;
  // The lease that is in force for the key.
  [[nodiscard]] std::optional<Lease> holder(const LockKey& key) const;

  // Sleeps until `slot`'s lease may have ended, `until` has come or `*stopped` is no longer 0; returns early
  // for any reason. `seen` is what acquire() saw there.
  static void sleep(Slot& slot, Lease seen, const std::atomic<std::uint32_t>* stopped, sys::TimePoint until);

  // While the answer lives: when the holder of the lease that acquire() saw dies, its lease is ended at once,
  // and all sleepers are woken. nullptr: the lease is bound to no other process.
  [[nodiscard]] std::unique_ptr<segment::DeathWatch> watch_holder(Slot& slot, Lease seen);

  // For error texts: the process that a binding names.
  [[nodiscard]] segment::ProcessInfo process(std::uint64_t binding) const {
    return segment_->processes().info(static_cast<segment::ProcessSlot>(binding - 1));
  }
  [[nodiscard]] const std::string& name() const { return segment_->name(); }

 private:
  // What one acquire wants, worked out once.
  struct Request {
    const LockKey& key;
    OwnerToken owner;
    Ttl ttl;
    std::uint64_t binding;
    StripeRef stripe;
    Place place;
  };
  [[nodiscard]] std::pair<StripeRef, Place> locate(const LockKey& key) const noexcept;
  [[nodiscard]] StripeRef stripe_at(const SlotClass& slots, std::uint64_t index) const noexcept;
  [[nodiscard]] bool is_over(Lease lease) const;
  std::optional<Attempt> take(const Request& request, StripeRef::Found found);
  std::optional<Attempt> add(const Request& request, std::chrono::nanoseconds patience);
  StripeRef::Found reserve(const Request& request);
  StripeRef::Found try_reserve(const Request& request, unsigned index);
  static Attempt settle(const Request& request, StripeRef::Found reserved);

  template <class Change>
  std::optional<Lease> change(const LockKey& key, OwnerToken owner, Change&& changed, Slot** where = nullptr);
  void forget(segment::ProcessSlot dead);
  void end_lease_of_the_dead(Slot& slot, segment::ProcessSlot process);

  std::shared_ptr<segment::Segment> segment_;
  Geometry geometry_;
};

}  // namespace mortise::table
