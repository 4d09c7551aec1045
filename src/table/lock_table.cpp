#include "table/lock_table.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "sys/futex.hpp"
#include "table/key_hash.hpp"
#include "table/stripe_reader.hpp"

namespace mortise::table {

namespace {

void wake(const Slot& slot, int count) {
  sys::futex_wake(sys::low_half(slot.lease.owner_word()), count);
}

void note_grant(Slot& slot, sys::TimePoint now) {
  const auto micros = std::chrono::floor<sys::Micros>(now.time_since_epoch());
  slot.granted_at.store(static_cast<std::uint64_t>(micros.count()), std::memory_order_relaxed);
}

// After a swap to the free word `freed`: wakes one sleeper. Finding nobody asleep, takes the bit away again:
// while the word is still `freed`, nobody can have gone to sleep on it, for waiters sleep on held words only.
void wake_after_free(Slot& slot, Lease freed) {
  if (!freed.has_sleepers()) return;
  if (sys::futex_wake(sys::low_half(slot.lease.owner_word()), 1) == 0)
    slot.lease.swap(freed, freed.with_sleepers(false));
}

bool make_stripes(const segment::Header& header, std::byte* body) {
  const Geometry geometry(header.slots);
  for (const SlotClass& slots : geometry.classes()) {
    for (std::uint32_t i = 0; i < slots.stripes; ++i) {
      auto* stripe = new (body + slots.offset + i * slots.stripe_bytes()) Stripe{};
      stripe->floor.store(header.fence_base, std::memory_order_relaxed);
      if (header.guard == segment::Guard::robust_mutex && !stripe->mutex.initialize()) return false;
    }
  }
  return true;
}

bool fits_in(const segment::Header& header, std::uint64_t body_bytes) {
  return header.slots >= Geometry::kMinSlots && header.slots <= Geometry::kMaxSlots &&
         Geometry(header.slots).body_bytes() <= body_bytes;
}

std::optional<std::uint64_t> highest_fence(const segment::Header& header, const std::byte* body,
                                           std::uint64_t bytes) {
  if (!fits_in(header, bytes)) return std::nullopt;
  const Geometry geometry(header.slots);
  std::uint64_t highest = header.fence_base;
  for_each_stripe(body, geometry, [&](const StripeReader& stripe) {
    highest = std::max(highest, stripe.header().floor.load(std::memory_order_relaxed));
    for (unsigned i = 0; i < kSlotsPerStripe; ++i)
      highest = std::max(highest, stripe.slot(i).fence.load(std::memory_order_relaxed));
  });
  return highest;
}

}  // namespace

segment::Plan LockTable::plan(std::uint32_t slots, std::uint32_t processes, segment::Guard guard) {
  return {layout_fingerprint(),         slots,        processes,    guard,
          Geometry(slots).body_bytes(), make_stripes, highest_fence};
}

bool LockTable::fits(const segment::Segment& segment) {
  return fits_in(segment.header(), segment.body_bytes());
}

LockTable::LockTable(std::shared_ptr<segment::Segment> segment)
    : segment_(std::move(segment)), geometry_(segment_->header().slots) {}

std::pair<StripeRef, Place> LockTable::locate(const LockKey& key) const noexcept {
  const std::uint64_t hash = hash_of(key, segment_->header().hash_seed);
  const SlotClass& slots = geometry_.class_for(key.size());
  return {stripe_at(slots, slots.stripe_of(hash)), Place::of(hash, key.size())};
}

StripeRef LockTable::stripe_at(const SlotClass& slots, std::uint64_t index) const noexcept {
  return {reinterpret_cast<Stripe*>(segment_->body() + slots.offset + index * slots.stripe_bytes()),
          slots.slot_bytes};
}

bool LockTable::is_over(Lease lease) const {
  if (sys::has_come(lease.expiry())) return true;
  const std::uint64_t binding = lease.binding();
  return binding != Lease::kUnbound &&
         !segment_->processes().is_alive(static_cast<segment::ProcessSlot>(binding - 1));
}

LockTable::Attempt LockTable::acquire(const LockKey& key, OwnerToken owner, Ttl ttl,
                                      std::chrono::nanoseconds patience) {
  segment::ProcessSlots& processes = segment_->processes();
  auto process = processes.own();
  if (!process) process = segment_->attach([this](segment::ProcessSlot dead) { forget(dead); });
  if (!process) return {.outcome = Outcome::not_attached, .error = errno};
  const auto [stripe, place] = locate(key);
  const Request request{key, owner, ttl, Lease::bound_to(*process), stripe, place};
  // Each turn that does not end here was overtaken by somebody else's success.
  for (;;) {
    const StripeRef::Found found = stripe.find(place, key);
    // A miss, or a slot whose key is changing, proves nothing without the mutex.
    const bool known = found && !found.lease.is_reserved();
    if (auto attempt = known ? take(request, found) : add(request, patience)) return *attempt;
  }
}

// Takes the lease of a known key, if it is free or over. nullopt: somebody else changed the slot meanwhile.
//
// Why the fence is monotone: the number is drawn after the word was read, and the swap proves that the word
// did not change in between. So every earlier grant of this slot was drawn before ours.
std::optional<LockTable::Attempt> LockTable::take(const Request& request, StripeRef::Found found) {
  Slot& slot = *found.slot;
  if (segment_->was_replaced(sys::coarse_now())) return Attempt{Outcome::replaced};
  if (found.lease.is_held() && !is_over(found.lease)) {
    // The same word before and after the key was compared: this lease is that key's.
    if (slot.lease.load() != found.lease) return std::nullopt;
    return Attempt{.outcome = Outcome::busy, .slot = &slot, .seen = found.lease};
  }
  const std::uint64_t fence = slot.fence.fetch_add(1, std::memory_order_relaxed) + 1;
  const sys::TimePoint now = sys::Clock::now();
  const Lease ours = Lease::held(request.owner, now + request.ttl.milliseconds(), request.binding,
                                 found.lease.has_sleepers());
  if (!slot.lease.swap(found.lease, ours)) return std::nullopt;
  note_grant(slot, now);
  return Attempt{.outcome = Outcome::granted, .fence = fence};
}

// Gives the key a slot, under the stripe's mutex, and grants it. nullopt: the key has one already.
std::optional<LockTable::Attempt> LockTable::add(const Request& request, std::chrono::nanoseconds patience) {
  const sys::TimePoint now = sys::Clock::now();
  if (segment_->was_replaced(now)) return Attempt{Outcome::replaced};
  const ShapeLock lock(*segment_, request.stripe, request.binding, sys::later(now, patience));
  switch (lock.state()) {
    case ShapeLock::State::locked:
      break;
    case ShapeLock::State::unusable:
      return Attempt{Outcome::unusable};
    case ShapeLock::State::stalled:
      return Attempt{.outcome = Outcome::stalled,
                     .since = now,
                     .shaper = request.stripe.header().shaper.load(std::memory_order_relaxed)};
  }
  if (const StripeRef::Found found = request.stripe.find(request.place, request.key)) {
    // Under the mutex, and after its repair, no slot is reserved: unless somebody scribbled over the segment.
    return found.lease.is_reserved() ? std::optional(Attempt{Outcome::unusable}) : std::nullopt;
  }
  const StripeRef::Found reserved = reserve(request);
  return reserved ? settle(request, reserved) : Attempt{Outcome::full};
}

// Finds a slot that holds no live lease and reserves it: an unused one first, so that known keys stay known,
// then the key's home, then the next one round the stripe.
StripeRef::Found LockTable::reserve(const Request& request) {
  Stripe& stripe = request.stripe.header();
  for (unsigned i = 0; i < kSlotsPerStripe; ++i) {
    const unsigned index = (request.place.home + i) % kSlotsPerStripe;
    if (stripe.tag(index) != 0) continue;
    if (const auto reserved = try_reserve(request, index)) return reserved;
  }
  if (const auto reserved = try_reserve(request, request.place.home)) return reserved;
  const std::uint32_t hand = stripe.hand.load(std::memory_order_relaxed);
  for (unsigned i = 0; i < kSlotsPerStripe; ++i) {
    const unsigned index = (hand + i) % kSlotsPerStripe;
    if (const auto reserved = try_reserve(request, index)) {
      stripe.hand.store(index + 1, std::memory_order_relaxed);
      return reserved;
    }
  }
  return {};
}

StripeRef::Found LockTable::try_reserve(const Request& request, unsigned index) {
  Slot& slot = request.stripe.slot(index);
  const Lease before = slot.lease.load();
  if (before.is_reserved() || (before.is_held() && !is_over(before))) return {};
  const Lease ours = Lease::reserved(request.owner.as_number());
  if (!slot.lease.swap(before, ours)) return {};
  // Whoever sleeps here waits for a key that is moving out.
  if (before.has_sleepers()) wake(slot, sys::kAllSleepers);
  return {&slot, ours, index};
}

// Writes the key into the reserved slot and turns it into a lease. The floor is raised first: from here on
// the old key may come back in any slot of the stripe. A death anywhere in here leaves the slot reserved, and
// repair() wipes it. Nobody may have the slot in between, so it goes from reserved to held and is never free.
LockTable::Attempt LockTable::settle(const Request& request, StripeRef::Found reserved) {
  Stripe& stripe = request.stripe.header();
  Slot& slot = *reserved.slot;
  stripe.raise_floor(slot.fence.load(std::memory_order_relaxed));
  std::atomic<std::uint64_t>* stored = slot.key();
  for (const std::uint64_t word : request.key.words()) (stored++)->store(word, std::memory_order_relaxed);
  slot.identity.store(request.place.identity, std::memory_order_relaxed);
  stripe.set_tag(reserved.index, request.place.tag);
  const std::uint64_t fence = stripe.floor.load(std::memory_order_relaxed) + 1;
  slot.fence.store(fence, std::memory_order_relaxed);
  const sys::TimePoint now = sys::Clock::now();
  const Lease ours = Lease::held(request.owner, now + request.ttl.milliseconds(), request.binding, false);
  if (!slot.lease.swap(reserved.lease, ours)) return {Outcome::unusable};
  note_grant(slot, now);
  return {.outcome = Outcome::granted, .fence = fence};
}

// Swaps the lease of `owner` for changed(lease), if it is in force. Answers the lease as it was; nullopt when
// it is lost. A lease in force keeps its slot and its key, so a miss, too, says that it is lost. That it is
// over is proved by the same word after the look at the clock: a lease that was handed over may be extended,
// or unbound from its process, by another handle meanwhile.
template <class Change>
std::optional<Lease> LockTable::change(const LockKey& key, OwnerToken owner, Change&& changed, Slot** where) {
  const auto [stripe, place] = locate(key);
  StripeRef::Found found = stripe.find(place, key);
  while (found && found.lease.is_held_by(owner)) {
    if (!is_over(found.lease)) {
      if (found.slot->lease.swap(found.lease, changed(found.lease))) {
        if (where != nullptr) *where = found.slot;
        return found.lease;
      }
    } else if (found.slot->lease.load() == found.lease) {
      return std::nullopt;
    }
    found.lease = found.slot->lease.load();
  }
  return std::nullopt;
}

bool LockTable::release(const LockKey& key, OwnerToken owner) {
  Slot* slot = nullptr;
  const auto before = change(
      key, owner, [](Lease lease) { return lease.released(); }, &slot);
  if (!before) return false;
  wake_after_free(*slot, before->released());
  return true;
}

// Sleepers wait for the expiry that they saw. When it moves closer they must look again: all of them, with
// the bit taken away, so that one who is just going to sleep finds the word changed.
bool LockTable::extend(const LockKey& key, OwnerToken owner, Ttl ttl) {
  Slot* slot = nullptr;
  Lease extended;
  const auto before = change(
      key, owner,
      [&](Lease lease) {
        extended = lease.with_expiry(sys::Clock::now() + ttl.milliseconds());
        if (extended.expiry() < lease.expiry()) extended = extended.with_sleepers(false);
        return extended;
      },
      &slot);
  if (!before) return false;
  if (before->has_sleepers() && !extended.has_sleepers()) wake(*slot, sys::kAllSleepers);
  // Stopped between the look at the clock and the swap, we may have revived a lease that others have seen
  // expired: it ends again. By a release, for somebody may sleep until the end that it has now.
  if (!sys::has_come(before->expiry()) || !slot->lease.swap(extended, extended.released())) return true;
  wake_after_free(*slot, extended.released());
  return false;
}

bool LockTable::unbind(const LockKey& key, OwnerToken owner) {
  return change(key, owner, [](Lease lease) { return lease.with_binding(Lease::kUnbound); }).has_value();
}

// The token is of one lease only, and a lease in force keeps its slot: so nothing but the word is looked at.
bool LockTable::is_held_by(const LockKey& key, OwnerToken owner, std::uint64_t& hint) const {
  if (hint == 0) {
    const auto [stripe, place] = locate(key);
    const StripeRef::Found found = stripe.find(place, key);
    if (!found || !found.lease.is_held_by(owner)) return false;
    hint = static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(found.slot) - segment_->body());
  }
  const auto& slot = *reinterpret_cast<const Slot*>(segment_->body() + hint);
  for (Lease lease = slot.lease.load(); lease.is_held_by(owner); lease = slot.lease.load()) {
    if (!is_over(lease)) return true;
    // The word is read again after the look at the clock: see change().
    if (slot.lease.load() == lease) return false;
  }
  return false;
}

std::optional<Lease> LockTable::holder(const LockKey& key) const {
  const auto [stripe, place] = locate(key);
  for (;;) {
    const StripeRef::Found found = stripe.find(place, key);
    if (!found || !found.lease.is_held()) return std::nullopt;
    // The word is read again after the look at the clock: see change().
    const bool over = is_over(found.lease);
    if (found.slot->lease.load() != found.lease) continue;
    return over ? std::nullopt : std::optional(found.lease);
  }
}

// Why no wake-up is lost: a release swaps the word first and wakes then. A waiter that set the bit before the
// swap is woken, or finds the low half of the word changed when it comes to sleep; one that comes after sees
// the free word.
void LockTable::sleep(Slot& slot, Lease seen, const std::atomic<std::uint32_t>* stopped,
                      sys::TimePoint until) {
  const Lease marked = seen.with_sleepers(true);
  if (marked != seen && !slot.lease.swap(seen, marked)) return;
  const sys::FutexWord word = sys::low_half(slot.lease.owner_word());
  const auto expected = static_cast<std::uint32_t>(marked.owner);
  if (stopped == nullptr) {
    sys::futex_wait(word, expected, until);
  } else {
    sys::futex_wait_either(word, expected, reinterpret_cast<sys::FutexWord>(stopped), until);
  }
}

std::unique_ptr<segment::DeathWatch> LockTable::watch_holder(Slot& slot, Lease seen) {
  const std::uint64_t binding = seen.binding();
  if (binding == Lease::kUnbound) return nullptr;
  const auto process = static_cast<segment::ProcessSlot>(binding - 1);
  if (segment_->processes().own() == process) return nullptr;
  return std::make_unique<segment::DeathWatch>(
      segment_->processes(), process, [this, &slot, process] { end_lease_of_the_dead(slot, process); });
}

// The word is read before its process is found dead: so it is a lease of the dead, and not of who has the
// process slot next.
//
// All sleepers look again, for they watch the dead one: only one of them gets the key, and the others have to
// watch that one from now on, or whoever took the key in the meantime.
void LockTable::end_lease_of_the_dead(Slot& slot, segment::ProcessSlot process) {
  for (;;) {
    const Lease lease = slot.lease.load();
    const bool is_of_the_dead = lease.is_held() && lease.binding() == Lease::bound_to(process) &&
                                !segment_->processes().is_alive(process);
    if (is_of_the_dead && !slot.lease.swap(lease, lease.released())) continue;
    return wake(slot, sys::kAllSleepers);
  }
}

// The slot is used again when this returns, so no lease may name it then: a swap that fails is tried again.
void LockTable::forget(segment::ProcessSlot dead) {
  const auto free_if_bound = [dead](Slot& slot) {
    for (;;) {
      const Lease lease = slot.lease.load();
      if (!lease.is_held() || lease.binding() != Lease::bound_to(dead)) return;
      if (slot.lease.swap(lease, lease.released())) return wake_after_free(slot, lease.released());
    }
  };
  for (const SlotClass& slots : geometry_.classes()) {
    for (std::uint32_t i = 0; i < slots.stripes; ++i) {
      const StripeRef stripe = stripe_at(slots, i);
      for (unsigned j = 0; j < kSlotsPerStripe; ++j) free_if_bound(stripe.slot(j));
    }
  }
}

}  // namespace mortise::table
