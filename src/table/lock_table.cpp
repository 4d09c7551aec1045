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

void note_grant(Slot& slot, sys::TimePoint since) {
  slot.granted_at.store(static_cast<std::uint64_t>(since.time_since_epoch().count()),
                        std::memory_order_relaxed);
}

// While the word is what was seen.
void sleep_on(const Slot& slot, Lease seen, const std::atomic<std::uint32_t>* stopped, sys::TimePoint until) {
  const sys::FutexWord word = sys::low_half(slot.lease.owner_word());
  const auto expected = static_cast<std::uint32_t>(seen.owner);
  if (stopped == nullptr) {
    sys::futex_wait(word, expected, until);
  } else {
    sys::futex_wait_either(word, expected, reinterpret_cast<sys::FutexWord>(stopped), until);
  }
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
    for (unsigned i = 0; i < kSlotsPerStripe; ++i) highest = std::max(highest, stripe.slot(i).last_fence());
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

namespace {

// A hint is the offset of a slot, and above it a number that no other table of this process has.
constexpr unsigned kHintTagShift = 40;

std::uint64_t new_hint_tag() noexcept {
  static std::atomic<std::uint64_t> tables = 0;
  const std::uint64_t tag = tables.fetch_add(1, std::memory_order_relaxed) + 1;
  return tag >> (64 - kHintTagShift) == 0 ? tag << kHintTagShift : 0;  // 0: it remembers nothing
}

}  // namespace

LockTable::LockTable(std::shared_ptr<segment::Segment> segment)
    : segment_(std::move(segment)), geometry_(segment_->header().slots), hint_tag_(new_hint_tag()) {}

inline LockTable::Home LockTable::home_of(const LockKey& key) const noexcept {
  const std::uint64_t hash = hash_of(key, segment_->header().hash_seed);
  const SlotClass& slots = geometry_.class_for(key.size());
  const std::uint64_t stripe = slots.stripe_of(hash);
  return {stripe_at(slots, stripe), slots.first_slot_of(stripe), Place::of(hash, key.size())};
}

// Where the key was found last. It may have moved out since.
Slot* LockTable::remembered(const LockKey& key) const noexcept {
  const std::uint64_t hint = key.hint();
  if (hint == 0 || (hint ^ hint_tag_) >> kHintTagShift != 0) return nullptr;
  return reinterpret_cast<Slot*>(segment_->body() + (hint ^ hint_tag_));
}

void LockTable::remember(const LockKey& key, const Slot& slot) const noexcept {
  if (hint_tag_ == 0) return;
  const auto offset = reinterpret_cast<const std::byte*>(&slot) - segment_->body();
  key.set_hint(hint_tag_ | static_cast<std::uint64_t>(offset));
}

inline bool LockTable::find(const LockKey& key, StripeRef::Found& found) const noexcept {
  found.slot = remembered(key);
  if (found) {
    // The word is read before the key: while it stays as it is, so does the key.
    found.lease = found.slot->lease.load();
    if (found.slot->holds(key)) return true;
  }
  return find_at_home(key, found);
}

bool LockTable::find_at_home(const LockKey& key, StripeRef::Found& found) const noexcept {
  const Home home = home_of(key);
  if (!home.stripe.find(home.place, key, found)) return false;
  remember(key, *found.slot);
  return true;
}

// The lease of `owner`. A token is of one lease only, and a lease in force keeps its slot: so where the slot
// is remembered, the key need not be compared, and a miss says that the lease is lost.
inline bool LockTable::find_held(const LockKey& key, OwnerToken owner,
                                 StripeRef::Found& found) const noexcept {
  found.slot = remembered(key);
  if (found) {
    found.lease = found.slot->lease.load();
    if (found.lease.is_held_by(owner)) return true;
  }
  return find(key, found) && found.lease.is_held_by(owner);
}

StripeRef LockTable::stripe_at(const SlotClass& slots, std::uint64_t index) const noexcept {
  return {reinterpret_cast<Stripe*>(segment_->body() + slots.offset + index * slots.stripe_bytes()),
          slots.slot_bytes};
}

bool LockTable::has_living_holder(Lease lease, sys::TimePoint now) const {
  const std::uint64_t binding = lease.binding();
  return binding == Lease::kUnbound ||
         segment_->processes().was_alive_recently(static_cast<segment::ProcessSlot>(binding - 1), now);
}

inline bool LockTable::is_over(Lease lease) const {
  if (sys::has_come(lease.expiry())) return true;
  const std::uint64_t binding = lease.binding();
  return binding != Lease::kUnbound &&
         !segment_->processes().is_alive(static_cast<segment::ProcessSlot>(binding - 1));
}

// Takes the lease of a known key that is free or over: the fence, or 0 when somebody else changed the slot
// meanwhile.
//
// Why the fence is monotone: it is one more than that of the word that was seen, and the swap proves that
// the word was so until now. The mark was read meanwhile, so it is that word's. It is moved up before the
// bits in the word could come round to it.
inline std::uint64_t LockTable::grant(const Request& request, Slot& slot, Lease seen, sys::TimePoint since) {
  const std::uint64_t mark = slot.fence_mark.load(std::memory_order_relaxed);
  const std::uint64_t fence = seen.fence(mark) + 1;
  if (fence - mark > Slot::kMarkStep && !slot.move_mark(seen)) return 0;
  const Lease ours = Lease::held(request.owner, since + request.ttl.milliseconds(), request.binding, fence,
                                 seen.has_sleepers());
  if (!slot.lease.swap(seen, ours)) return 0;
  note_grant(slot, since);
  return fence;
}

std::uint64_t LockTable::take_free(const LockKey& key, OwnerToken owner, Ttl ttl, StripeRef::Found& found) {
  const auto process = segment_->processes().own();
  if (!find(key, found) || !process || !found.lease.is_free() || found.slot->is_spoken_for()) return 0;
  const sys::TimePoint now = sys::soon();
  if (segment_->was_replaced(now)) return 0;
  return grant({key, owner, ttl, Lease::bound_to(*process), Turn::now}, *found.slot, found.lease, now);
}

LockTable::Attempt LockTable::acquire(const LockKey& key, OwnerToken owner, Ttl ttl,
                                      std::chrono::nanoseconds patience, Turn turn) {
  StripeRef::Found found;
  find(key, found);
  return acquire_from(found, key, owner, ttl, patience, turn);
}

LockTable::Attempt LockTable::acquire_from(StripeRef::Found& found, const LockKey& key, OwnerToken owner,
                                           Ttl ttl, std::chrono::nanoseconds patience, Turn turn) {
  segment::ProcessSlots& processes = segment_->processes();
  auto process = processes.own();
  if (!process) process = segment_->attach([this](segment::ProcessSlot dead) { forget(dead); });
  if (!process) return {.outcome = Outcome::not_attached, .error = errno};
  const Request request{key, owner, ttl, Lease::bound_to(*process), turn};
  for (;; find(key, found)) {
    // A miss, or a slot whose key is changing, proves nothing without the mutex.
    const bool known = found && !found.lease.is_reserved();
    const Attempt attempt = known ? take(request, found) : add(request, patience);
    if (attempt.outcome != Outcome::overtaken) return attempt;
  }
}

// Takes the lease of a known key, if it is free or over.
LockTable::Attempt LockTable::take(const Request& request, const StripeRef::Found& found) {
  if (found.lease.is_held()) {
    const sys::Moment now = sys::about_now();
    const sys::TimePoint expiry = found.lease.expiry();
    if ((now.latest < expiry || sys::Clock::now() < expiry) && has_living_holder(found.lease, now.earliest))
      return refuse(found, now.earliest);
  }
  if (request.turn == Turn::later && found.lease.is_free() && found.slot->is_spoken_for())
    return {.outcome = Outcome::spoken_for, .slot = found.slot, .seen = found.lease};
  const sys::TimePoint now = sys::soon();
  if (segment_->was_replaced(now)) return {Outcome::replaced};
  const std::uint64_t fence = grant(request, *found.slot, found.lease, now);
  if (fence == 0) return {Outcome::overtaken};
  if (found.lease.is_held()) count_end_of(found.lease, *found.slot);
  return {.outcome = Outcome::granted, .fence = fence, .slot = found.slot, .seen = found.lease};
}

LockTable::Attempt LockTable::refuse(const StripeRef::Found& found, sys::TimePoint now) const {
  if (segment_->was_replaced(now)) return {Outcome::replaced};
  // The same word before and after the key was compared: this lease is that key's.
  if (found.slot->lease.load() != found.lease) return {Outcome::overtaken};
  return {.outcome = Outcome::busy, .slot = found.slot, .seen = found.lease, .since = now};
}

// Gives the key a slot, under the stripe's mutex, and grants it, unless it has one already.
LockTable::Attempt LockTable::add(const Request& request, std::chrono::nanoseconds patience) {
  const Home home = home_of(request.key);
  // The arrival lies far away, and will be needed soon.
  __builtin_prefetch(&tallies().arrival(home.first_slot + home.place.home));
  const ShapeLock lock(*segment_, home.stripe, request.binding, patience);
  switch (lock.state()) {
    case ShapeLock::State::locked:
      break;
    case ShapeLock::State::unusable:
      return {Outcome::unusable};
    case ShapeLock::State::stalled:
      return {.outcome = Outcome::stalled,
              .since = lock.waiting_since(),
              .shaper = home.stripe.header().shaper.load(std::memory_order_relaxed)};
  }
  const sys::TimePoint now = sys::soon();
  if (segment_->was_replaced(now)) return {Outcome::replaced};
  if (const StripeRef::Found found = home.stripe.find(home.place, request.key)) {
    // Under the mutex, and after its repair, no slot is reserved: unless somebody scribbled over the segment.
    return {found.lease.is_reserved() ? Outcome::unusable : Outcome::overtaken};
  }
  StripeRef::Found reserved;
  if (!reserve(request, home, reserved)) return {Outcome::full};
  remember(request.key, *reserved.slot);
  return settle(request, home, reserved, now);
}

// Finds a slot that holds no live lease and reserves it: an unused one first, so that known keys stay known,
// then the key's home, then the next one round the stripe.
bool LockTable::reserve(const Request& request, const Home& home, StripeRef::Found& reserved) {
  const auto unused = home.stripe.unused_slot(home.place.home);
  if (unused && try_reserve(request, home.stripe, *unused, reserved)) return true;
  if (try_reserve(request, home.stripe, home.place.home, reserved)) return true;
  Stripe& stripe = home.stripe.header();
  const std::uint32_t hand = stripe.hand.load(std::memory_order_relaxed);
  for (unsigned i = 0; i < kSlotsPerStripe; ++i) {
    const unsigned index = (hand + i) % kSlotsPerStripe;
    if (try_reserve(request, home.stripe, index, reserved)) {
      stripe.hand.store(index + 1, std::memory_order_relaxed);
      return true;
    }
  }
  return false;
}

bool LockTable::try_reserve(const Request& request, StripeRef stripe, unsigned index,
                            StripeRef::Found& reserved) {
  Slot& slot = stripe.slot(index);
  const Lease before = slot.lease.load();
  if (before.is_reserved() || (before.is_held() && !is_over(before))) return false;
  const Lease ours = Lease::reserved(request.owner.as_number(), before.term);
  if (!slot.lease.swap(before, ours)) return false;
  if (before.is_held()) count_end_of(before, slot);
  // Whoever sleeps here waits for a key that is moving out.
  if (before.has_sleepers()) wake(slot, sys::kAllSleepers);
  reserved.slot = &slot;
  reserved.lease = ours;
  reserved.index = index;
  return true;
}

// Writes the key into the reserved slot and turns it into a lease. The floor is raised first: from here on
// the old key may come back in any slot of the stripe. A death anywhere in here leaves the slot reserved, and
// repair() wipes it. Nobody may have the slot in between, so it goes from reserved to held and is never free.
//
// The fence is the first above the floor that goes on from the bits in the word: so the mark is that of the
// word both before and after the swap.
LockTable::Attempt LockTable::settle(const Request& request, const Home& home,
                                     const StripeRef::Found& reserved, sys::TimePoint since) {
  Stripe& stripe = home.stripe.header();
  Slot& slot = *reserved.slot;
  stripe.raise_floor(slot.fence(reserved.lease));
  const std::uint64_t mark = reserved.lease.fence(stripe.floor.load(std::memory_order_relaxed));
  begin_tally(home, reserved, mark);
  std::atomic<std::uint64_t>* stored = slot.key();
  for (const std::uint64_t word : request.key.words()) (stored++)->store(word, std::memory_order_relaxed);
  slot.identity.store(home.place.identity, std::memory_order_relaxed);
  stripe.set_tag(reserved.index, home.place.tag);
  slot.fence_mark.store(mark, std::memory_order_relaxed);
  const std::uint64_t fence = mark + 1;
  const Lease ours =
      Lease::held(request.owner, since + request.ttl.milliseconds(), request.binding, fence, false);
  if (!slot.lease.swap(reserved.lease, ours)) return {Outcome::unusable};
  note_grant(slot, since);
  return {.outcome = Outcome::granted, .fence = fence, .slot = &slot, .seen = reserved.lease};
}

// Swaps the lease of `owner` for changed(lease), if it is in force. Answers the lease as it was; nullopt when
// it is lost. A lease in force keeps its slot and its key, so a miss, too, says that it is lost. That it is
// over is proved by the same word after the look at the clock: a lease that was handed over may be extended,
// or unbound from its process, by another handle meanwhile.
template <class Change>
std::optional<LockTable::Changed> LockTable::change(const LockKey& key, OwnerToken owner, Change&& changed) {
  StripeRef::Found found;
  if (!find_held(key, owner, found)) return std::nullopt;
  while (found.lease.is_held_by(owner)) {
    if (!is_over(found.lease)) {
      if (found.slot->lease.swap(found.lease, changed(found.lease))) return Changed{found.slot, found.lease};
    } else if (found.slot->lease.load() == found.lease) {
      return std::nullopt;
    }
    found.lease = found.slot->lease.load();
  }
  return std::nullopt;
}

bool LockTable::release(const LockKey& key, OwnerToken owner) {
  const auto done = change(key, owner, [](Lease lease) { return lease.released(); });
  if (!done) return false;
  wake_after_free(*done->slot, done->before.released());
  return true;
}

// Sleepers wait for the expiry that they saw. When it moves closer they must look again: all of them, with
// the bit taken away, so that one who is just going to sleep finds the word changed.
bool LockTable::extend(const LockKey& key, OwnerToken owner, Ttl ttl) {
  Lease extended;
  const auto done = change(key, owner, [&](Lease lease) {
    extended = lease.with_expiry(sys::soon() + ttl.milliseconds());
    if (extended.expiry() < lease.expiry()) extended = extended.with_sleepers(false);
    return extended;
  });
  if (!done) return false;
  const auto [slot, before] = *done;
  if (before.has_sleepers() && !extended.has_sleepers()) wake(*slot, sys::kAllSleepers);
  // Stopped between the look at the clock and the swap, we may have revived a lease that others have seen
  // expired: it ends again. By a release, for somebody may sleep until the end that it has now.
  if (!sys::has_come(before.expiry()) || !slot->lease.swap(extended, extended.released())) return true;
  wake_after_free(*slot, extended.released());
  return false;
}

bool LockTable::unbind(const LockKey& key, OwnerToken owner) {
  return change(key, owner, [](Lease lease) { return lease.with_binding(Lease::kUnbound); }).has_value();
}

bool LockTable::is_held_by(const LockKey& key, OwnerToken owner) const {
  StripeRef::Found found;
  if (!find_held(key, owner, found)) return false;
  for (Lease lease = found.lease; lease.is_held_by(owner); lease = found.slot->lease.load()) {
    if (!is_over(lease)) return true;
    // The word is read again after the look at the clock: see change().
    if (found.slot->lease.load() == lease) return false;
  }
  return false;
}

std::optional<Lease> LockTable::holder(const LockKey& key) const {
  for (StripeRef::Found found;;) {
    if (!find(key, found) || !found.lease.is_held()) return std::nullopt;
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
  if (marked == seen || slot.lease.swap(seen, marked)) sleep_on(slot, marked, stopped, until);
}

void LockTable::stand_back(Slot& slot, Lease seen, const std::atomic<std::uint32_t>* stopped,
                           sys::TimePoint until) {
  sleep_on(slot, seen, stopped, until);
}

// The mark may be lost when a grant is noted at the same moment: who asks will ask again.
void LockTable::ask_to_be_next(Slot& slot) {
  if (!slot.is_spoken_for()) slot.granted_at.fetch_or(Slot::kSpokenFor, std::memory_order_relaxed);
}

unsigned LockTable::count_sleepers(const Slot& slot) {
  return sys::count_sleepers(sys::low_half(slot.lease.owner_word()));
}

void LockTable::wake_an_observer(const Slot& slot, Lease before) {
  if (before.has_sleepers()) wake(slot, 1);
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
    if (is_of_the_dead) count_end_of(lease, slot);
    return wake(slot, sys::kAllSleepers);
  }
}

// The slot is used again when this returns, so no lease may name it then: a swap that fails is tried again.
void LockTable::forget(segment::ProcessSlot dead) {
  const auto free_if_bound = [this, dead](Slot& slot) {
    for (;;) {
      const Lease lease = slot.lease.load();
      if (!lease.is_held() || lease.binding() != Lease::bound_to(dead)) return;
      if (!slot.lease.swap(lease, lease.released())) continue;
      count_end_of(lease, slot);
      return wake_after_free(slot, lease.released());
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
