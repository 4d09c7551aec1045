// A stripe: 64 slots for keys, and the mutex that guards which key lives in which slot.
//
//   0    Stripe   mutex, fence floor, tags
//   128  Slot     64 times, each followed by the bytes of its key
//
// Nothing is linked and nothing moves. The mutex guards the shape only: leases change by swaps of their own,
// and a known key never needs it. In a segment with Guard::file_lock, a lock on the stripe's first byte in
// the file takes the part of the mutex.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "mortise/types.hpp"
#include "segment/segment.hpp"
#include "sys/robust_mutex.hpp"
#include "table/lease.hpp"

namespace mortise::table {

inline constexpr unsigned kSlotsPerStripe = 64;

// One key and its lease. The order of writing is the protocol's: see docs/design/lease-protocol.md.
struct Slot {
  LeaseWord lease;
  // Was the fencing number of the last grant, and is behind it by Lease::kMostBehind at most. Grows only.
  std::atomic<std::uint64_t> fence_mark;
  std::atomic<std::uint64_t>
      identity;  // Place::identity; 0: no key. Written while the lease word is reserved
  // When its last grant was, in ns of CLOCK_MONOTONIC, for display. Written by the holder after its grant.
  // And above it a mark of those who wait for long: a hint to newcomers.
  std::atomic<std::uint64_t> granted_at;

  // The fencing number of the last grant, if the word was `seen` before and is so still.
  [[nodiscard]] std::uint64_t fence(Lease seen) const noexcept {
    return seen.fence(fence_mark.load(std::memory_order_acquire));
  }
  // The same at any moment: while the mark is the same, it is that of all words that are seen.
  [[nodiscard]] std::uint64_t last_fence() const noexcept;
  // The mark is moved up before the last grant is further than this above it.
  static constexpr std::uint64_t kMarkStep = (Lease::kMostBehind + 1) / 2;
  // Moves it to the fence of `seen`. False when the word is another by now, or the mark.
  bool move_mark(Lease seen) noexcept;

  static constexpr std::uint64_t kSpokenFor = std::uint64_t{1} << 63U;
  [[nodiscard]] bool is_spoken_for() const noexcept {
    return (granted_at.load(std::memory_order_relaxed) & kSpokenFor) != 0;
  }

  // The key as 8-byte words, right behind the slot. Written while the lease word is reserved.
  [[nodiscard]] std::atomic<std::uint64_t>* key() noexcept {
    return reinterpret_cast<std::atomic<std::uint64_t>*>(this + 1);
  }
  [[nodiscard]] const std::atomic<std::uint64_t>* key() const noexcept {
    return reinterpret_cast<const std::atomic<std::uint64_t>*>(this + 1);
  }
  // Is it this key, as far as its bytes say?
  [[nodiscard]] bool holds(const LockKey& other) const noexcept {
    constexpr std::uint64_t kLength = 0xffff;
    if ((identity.load(std::memory_order_relaxed) & kLength) != other.size()) return false;
    const std::atomic<std::uint64_t>* word = key();
    for (const std::uint64_t wanted : other.words()) {
      if ((word++)->load(std::memory_order_relaxed) != wanted) return false;
    }
    return true;
  }
};
static_assert(sizeof(Slot) == 40);  // leaves room for a key of 24 bytes in the first cache line

struct alignas(128) Stripe {
  sys::RobustMutex mutex;
  std::atomic<std::uint64_t>
      floor;  // no fence of a key that was evicted here is above it. Grows only, under the mutex
  std::atomic<std::uint32_t> hand;    // where the search for a slot to reuse goes on. Under the mutex
  std::atomic<std::uint32_t> shaper;  // the binding of the process that changes the shape; 0: nobody does
  std::atomic<std::uint64_t> former_grants;  // of keys that were evicted here, for display. Under the mutex
  std::array<std::atomic<std::uint64_t>, kSlotsPerStripe / 8>
      tags;  // a byte per slot; 0: no key. Under the mutex

  static constexpr unsigned kTagsPerWord = 8;
  [[nodiscard]] std::uint8_t tag(unsigned slot) const noexcept {
    return static_cast<std::uint8_t>(tags[slot / kTagsPerWord].load(std::memory_order_relaxed) >>
                                     shift(slot));
  }
  // A bit for each slot that has the tag.
  [[nodiscard]] std::uint64_t slots_tagged(std::uint8_t tag) const noexcept;
  void set_tag(unsigned slot, std::uint8_t tag) noexcept {
    std::atomic<std::uint64_t>& word = tags[slot / kTagsPerWord];
    const std::uint64_t others = word.load(std::memory_order_relaxed) & ~(std::uint64_t{0xff} << shift(slot));
    word.store(others | std::uint64_t{tag} << shift(slot), std::memory_order_release);
  }
  void raise_floor(std::uint64_t fence) noexcept {
    if (fence > floor.load(std::memory_order_relaxed)) floor.store(fence, std::memory_order_relaxed);
  }

  static constexpr unsigned shift(unsigned slot) { return slot % kTagsPerWord * 8; }
};
static_assert(sizeof(Stripe) == 128 && offsetof(Stripe, tags) == 64);

// Where a key belongs, by its hash.
struct Place {
  std::uint64_t identity;  // the upper 48 bits of the hash, and the key's length: never 0
  unsigned home;           // the slot that is looked at first
  std::uint8_t tag;

  static Place of(std::uint64_t hash, std::size_t key_bytes) noexcept {
    const std::uint64_t identity = (hash & ~std::uint64_t{0xffff}) | key_bytes;
    return {identity, static_cast<unsigned>(hash >> 24U) % kSlotsPerStripe, tag_of(identity)};
  }
  static std::uint8_t tag_of(std::uint64_t identity) noexcept {
    return identity == 0 ? 0 : static_cast<std::uint8_t>(1 + ((identity >> 16U) & 0xffU) % 255);
  }
};

// A stripe and the size of its slots.
class StripeRef {
 public:
  StripeRef(Stripe* stripe, std::uint32_t slot_bytes) noexcept : stripe_(stripe), slot_bytes_(slot_bytes) {}

  [[nodiscard]] Stripe& header() const noexcept { return *stripe_; }
  [[nodiscard]] Slot& slot(unsigned index) const noexcept {
    auto* first = reinterpret_cast<std::byte*>(stripe_ + 1);
    return *reinterpret_cast<Slot*>(first + std::size_t{index} * slot_bytes_);
  }
  [[nodiscard]] std::size_t key_capacity() const noexcept { return slot_bytes_ - sizeof(Slot); }

  // The slot of the key and the lease in it. Without the mutex, a hit is only proved by a swap of that lease
  // word, or by finding it unchanged afterwards; a miss only says that the key was free at some moment
  // meanwhile.
  struct Found {
    Slot* slot = nullptr;
    Lease lease;
    unsigned index = 0;
    explicit operator bool() const noexcept { return slot != nullptr; }
  };
  [[nodiscard]] Found find(const Place& place, const LockKey& key) const noexcept {
    Found found;
    find(place, key, found);
    return found;
  }
  // The same, written where it is needed: a copy would be read in wider pieces than it was written in, and
  // would have to wait for the cache.
  bool find(const Place& place, const LockKey& key, Found& found) const noexcept {
    return look(place.home, place, key, found) || find_away_from_home(place, key, found);
  }

  // A slot without a key, `from` or the next one round the stripe.
  [[nodiscard]] std::optional<unsigned> unused_slot(unsigned from) const noexcept;

 private:
  bool find_away_from_home(const Place& place, const LockKey& key, Found& found) const noexcept;
  bool look(unsigned index, const Place& place, const LockKey& key, Found& found) const noexcept {
    Slot& slot = this->slot(index);
    found.slot = nullptr;
    if (slot.identity.load(std::memory_order_relaxed) != place.identity) return false;
    // The word is read before the key: while it stays as it is, so does the key.
    found.lease = slot.lease.load();
    if (!slot.holds(key)) return false;
    found.slot = &slot;
    found.index = index;
    return true;
  }

  Stripe* stripe_;
  std::uint32_t slot_bytes_;
};

// Holds a stripe's mutex, with its stripe repaired. The only door to it.
class ShapeLock {
 public:
  enum class State { locked, stalled, unusable };

  // Tries for as long as `patience`. A stripe that is busy is not stalled, so it goes on for a while after
  // that, unless the process in the way is seen to be stopped.
  ShapeLock(segment::Segment& segment, StripeRef stripe, std::uint64_t binding,
            std::chrono::nanoseconds patience);
  ShapeLock(const ShapeLock&) = delete;
  ShapeLock& operator=(const ShapeLock&) = delete;
  ~ShapeLock();

  [[nodiscard]] State state() const noexcept { return state_; }
  // When it was first found locked.
  [[nodiscard]] sys::TimePoint waiting_since() const noexcept { return waiting_since_; }

 private:
  using Outcome = sys::RobustMutex::Outcome;
  Outcome try_lock() noexcept;
  Outcome try_for(std::chrono::nanoseconds patience);
  [[nodiscard]] bool shaper_is_stopped() const;

  segment::Segment& segment_;
  Stripe& stripe_;
  State state_ = State::stalled;
  sys::TimePoint waiting_since_;
};

}  // namespace mortise::table
