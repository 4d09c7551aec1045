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
#include "table/tallies.hpp"

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
    spoken_for,    // the key is free, and a waiter who has waited for long should have it first
    full,          // no slot where the key may live is free
    stalled,       // the mutex of the key's stripe stays locked
    unusable,      // the mutex of the key's stripe is broken
    not_attached,  // this process cannot attach
    replaced,      // the segment's file is gone: others may be using a new one
    overtaken,     // by somebody else's success: to be tried again. acquire() never answers it
  };
  struct Attempt {
    Outcome outcome;
    int error = 0;              // not_attached: the errno, EUSERS when every process slot is taken
    std::uint64_t fence = 0;    // granted
    Slot* slot = nullptr;       // granted, busy, spoken_for: where
    Lease seen = {};            // granted, busy, spoken_for: what was there before
    sys::TimePoint since = {};  // stalled: when that began; busy: when it was so
    std::uint32_t shaper = 0;   // stalled: the binding of the process in the way
  };
  // When is it the caller's turn to have a free key?
  enum class Turn {
    now,
    later,  // after a waiter who asked to be next
  };
  // `patience` bounds the wait for a stripe's mutex, which only a key that is new to the table needs.
  Attempt acquire(const LockKey& key, OwnerToken owner, Ttl ttl, std::chrono::nanoseconds patience,
                  Turn turn = Turn::now);

  // The same for the most frequent case alone: the key is known and free. The fence; 0: acquire_from() has to
  // look closer at what was found.
  std::uint64_t take_free(const LockKey& key, OwnerToken owner, Ttl ttl, StripeRef::Found& found);
  Attempt acquire_from(StripeRef::Found& found, const LockKey& key, OwnerToken owner, Ttl ttl,
                       std::chrono::nanoseconds patience, Turn turn);

  bool release(const LockKey& key, OwnerToken owner);
  bool extend(const LockKey& key, OwnerToken owner, Ttl ttl);
  bool unbind(const LockKey& key, OwnerToken owner);
  [[nodiscard]] bool is_held_by(const LockKey& key, OwnerToken owner) const;
  // The lease that is in force for the key.
  [[nodiscard]] std::optional<Lease> holder(const LockKey& key) const;

  // Sleeps until `slot`'s lease may have ended, `until` has come or `*stopped` is no longer 0; returns early
  // for any reason. `seen` is what acquire() saw there.
  static void sleep(Slot& slot, Lease seen, const std::atomic<std::uint32_t>* stopped, sys::TimePoint until);

  // Sleeps while a free key that is spoken for stays so, until `until` or a stop. It is woken only by the
  // latter: nobody knows of it.
  static void stand_back(Slot& slot, Lease seen, const std::atomic<std::uint32_t>* stopped,
                         sys::TimePoint until);
  // From now until the next grant, newcomers who can wait stand back when the key comes free.
  static void ask_to_be_next(Slot& slot);
  // Lets one of those who sleep for the key look again, if there are any; `before` is what was seen.
  static void wake_an_observer(const Slot& slot, Lease before);

  // Of an acquire that ended so, for display: was the key refused, and how long did it take to say so?
  void count_refusal(const Attempt& attempt);
  void count_wait(const Attempt& attempt, std::chrono::nanoseconds time);

  // Leases that were ended by force.
  [[nodiscard]] ForcedEnds& forced_ends() const noexcept {
    return *reinterpret_cast<ForcedEnds*>(segment_->body() + geometry_.forced_ends_offset());
  }

  // How many sleep for the key of this slot at this moment.
  static unsigned count_sleepers(const Slot& slot);

  // While the answer lives: when the holder of the lease that acquire() saw dies, its lease is ended at once,
  // and all sleepers are woken. nullptr: the lease is bound to no other process.
  [[nodiscard]] std::unique_ptr<segment::DeathWatch> watch_holder(Slot& slot, Lease seen);

  // For error texts: the process that a binding names.
  [[nodiscard]] segment::ProcessInfo process(std::uint64_t binding) const {
    return segment_->processes().info(static_cast<segment::ProcessSlot>(binding - 1));
  }
  [[nodiscard]] const std::string& name() const { return segment_->name(); }
  [[nodiscard]] int duplicate_lifeline() const { return segment_->processes().duplicate_lifeline(); }

 private:
  // What one acquire wants.
  struct Request {
    const LockKey& key;
    OwnerToken owner;
    Ttl ttl;
    std::uint64_t binding;
    Turn turn;
  };
  // Where a key belongs.
  struct Home {
    StripeRef stripe;
    std::uint64_t first_slot;  // of the stripe, among all of the table
    Place place;
  };
  [[nodiscard]] Home home_of(const LockKey& key) const noexcept;
  [[nodiscard]] StripeRef stripe_at(const SlotClass& slots, std::uint64_t index) const noexcept;
  [[nodiscard]] Slot* remembered(const LockKey& key) const noexcept;
  void remember(const LockKey& key, const Slot& slot) const noexcept;
  bool find(const LockKey& key, StripeRef::Found& found) const noexcept;
  bool find_at_home(const LockKey& key, StripeRef::Found& found) const noexcept;
  bool find_held(const LockKey& key, OwnerToken owner, StripeRef::Found& found) const noexcept;

  [[nodiscard]] bool is_over(Lease lease) const;
  [[nodiscard]] bool has_living_holder(Lease lease, sys::TimePoint now) const;
  std::uint64_t grant(const Request& request, Slot& slot, Lease seen, sys::TimePoint since);
  Attempt take(const Request& request, const StripeRef::Found& found);
  [[nodiscard]] Attempt refuse(const StripeRef::Found& found, sys::TimePoint now) const;
  Attempt add(const Request& request, std::chrono::nanoseconds patience);
  bool reserve(const Request& request, const Home& home, StripeRef::Found& reserved);
  bool try_reserve(const Request& request, StripeRef stripe, unsigned index, StripeRef::Found& reserved);
  Attempt settle(const Request& request, const Home& home, const StripeRef::Found& reserved,
                 sys::TimePoint since);

  struct Changed {
    Slot* slot;
    Lease before;
  };
  template <class Change>
  std::optional<Changed> change(const LockKey& key, OwnerToken owner, Change&& changed);
  void forget(segment::ProcessSlot dead);

  [[nodiscard]] Tallies<std::byte> tallies() const noexcept { return {segment_->body(), geometry_}; }
  void count_end_of(Lease lease, const Slot& slot);
  void begin_tally(const Home& home, const StripeRef::Found& reserved, std::uint64_t fence);
  void end_lease_of_the_dead(Slot& slot, segment::ProcessSlot process);

  std::shared_ptr<segment::Segment> segment_;
  Geometry geometry_;
  std::uint64_t hint_tag_;  // in the upper bits of every hint that is this table's: see remembered()
};

}  // namespace mortise::table
