// The lease word: who holds a slot's key, and until when. Everything that happens to a lease is one 16-byte
// swap of it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include "mortise/types.hpp"
#include "sys/atomic16.hpp"
#include "sys/clock.hpp"

namespace mortise::table {

// owner                 term                                             state
// 0     | sleepers bit  stamp                              | fence bits  free
// 1     | sleepers bit  stamp                              | fence bits  reserved: the slot's key changes
// token | sleepers bit  expiry in ticks | process slot + 1 | fence bits  held
//
// The sleepers bit may be set although nobody sleeps. It must not be missing while somebody sleeps on a held
// word, but for one who was woken or whose time is up. It passes from a held word to the free one, and on to
// the next holder, until a wake finds nobody asleep.
//
// The stamp is a token that the word has held or that nobody else will ever hold: so no value of the word
// comes back, and a swap that succeeds proves that nothing happened in between. For the same reason two reads
// of the same token prove that the term read in between is that lease's.
//
// process slot + 1 is 0 when the lease is bound to no process.
//
// The fence bits are the last ones of the fencing number of the last grant: so a grant and its number are one
// swap. A number beside the word, the fence mark, says what comes before them: see fence().
struct Lease {
  static constexpr std::uint64_t kSleepersBit = 1;
  static constexpr std::uint64_t kReserved = 1;  // in place of a token
  static constexpr unsigned kFenceBits = 6;
  static constexpr unsigned kProcessBits = 16;
  static constexpr std::uint64_t kUnbound = 0;
  static constexpr unsigned kTickShift = 16;
  static constexpr std::chrono::nanoseconds kTick{1U << kTickShift};  // 65.536 µs

  std::uint64_t owner = 0;
  std::uint64_t term = 0;

  static constexpr Lease free(std::uint64_t stamp, std::uint64_t fence, bool sleepers) {
    return {static_cast<std::uint64_t>(sleepers), stamp << kFenceBits | (fence & kFenceMask)};
  }
  static constexpr Lease reserved(std::uint64_t stamp, std::uint64_t fence) {
    return {kReserved << 1U, free(stamp, fence, false).term};
  }
  static constexpr Lease held(OwnerToken token, sys::TimePoint expiry, std::uint64_t binding,
                              std::uint64_t fence, bool sleepers) {
    return {token.as_number() << 1U | static_cast<std::uint64_t>(sleepers),
            ticks(expiry) << kExpiryShift | binding << kFenceBits | (fence & kFenceMask)};
  }
  // The binding of a process slot.
  static constexpr std::uint64_t bound_to(std::uint16_t process_slot) { return process_slot + 1ULL; }

  [[nodiscard]] constexpr std::uint64_t token() const { return owner >> 1U; }
  [[nodiscard]] constexpr bool has_sleepers() const { return (owner & kSleepersBit) != 0; }
  [[nodiscard]] constexpr bool is_free() const { return token() == 0; }
  [[nodiscard]] constexpr bool is_reserved() const { return token() == kReserved; }
  [[nodiscard]] constexpr bool is_held() const { return token() >= OwnerToken::kMin; }
  [[nodiscard]] bool is_held_by(OwnerToken owner_token) const { return token() == owner_token.as_number(); }

  // The fencing number of the last grant, by a mark that is kMostBehind less at most.
  static constexpr std::uint64_t kMostBehind = (1U << kFenceBits) - 1;
  [[nodiscard]] constexpr std::uint64_t fence(std::uint64_t mark) const {
    return mark + ((term - mark) & kFenceMask);
  }

  // Of a held word.
  [[nodiscard]] constexpr std::uint64_t binding() const {
    return term >> kFenceBits & ((1U << kProcessBits) - 1);
  }
  [[nodiscard]] constexpr sys::TimePoint expiry() const {
    return sys::TimePoint(std::chrono::nanoseconds(term >> kExpiryShift << kTickShift));
  }

  [[nodiscard]] constexpr Lease with_sleepers(bool sleepers) const {
    return {(owner & ~kSleepersBit) | static_cast<std::uint64_t>(sleepers), term};
  }
  [[nodiscard]] constexpr Lease with_binding(std::uint64_t binding_to) const {
    constexpr std::uint64_t kBinding = ((1ULL << kProcessBits) - 1) << kFenceBits;
    return {owner, (term & ~kBinding) | binding_to << kFenceBits};
  }
  [[nodiscard]] constexpr Lease with_expiry(sys::TimePoint expiry) const {
    return {owner, ticks(expiry) << kExpiryShift | (term & ((1ULL << kExpiryShift) - 1))};
  }
  // What a release makes of a held word.
  [[nodiscard]] constexpr Lease released() const { return free(token(), term, has_sleepers()); }
  // What the end of a reservation makes of a reserved word. Its stamp was drawn for the reservation and never
  // granted: as the stamp of a free word it is still new.
  [[nodiscard]] constexpr Lease wiped() const { return {owner & kSleepersBit, term}; }

  friend constexpr bool operator==(Lease, Lease) = default;

 private:
  static constexpr std::uint64_t kFenceMask = kMostBehind;
  static constexpr unsigned kExpiryShift = kFenceBits + kProcessBits;

  // Rounded up: a lease never ends early. The 42 bits last for 9.1 years of uptime and ttl; beyond, the
  // expiry stays there.
  static constexpr std::uint64_t ticks(sys::TimePoint time) {
    constexpr std::uint64_t kLast = (std::uint64_t{1} << (64 - kExpiryShift)) - 1;
    const auto count = static_cast<std::uint64_t>(time.time_since_epoch().count());
    return std::min((count + (1U << kTickShift) - 1) >> kTickShift, kLast);
  }
};

// The word in shared memory.
class LeaseWord {
 public:
  // The two halves may be of different moments: good enough for a swap, which then fails. For that the term
  // must be read first. A reservation has the stamp that the free word after it will have: an owner read
  // before, free, and this stamp would be a word that is still to come, and a swap that expects it succeeds.
  [[nodiscard]] Lease load() const noexcept {
    const std::uint64_t term = pair_.high.load(std::memory_order_acquire);
    return {pair_.low.load(std::memory_order_acquire), term};
  }

  // Both halves of one moment; nullopt when the word changes too fast for that, which a living table never
  // does for long.
  [[nodiscard]] std::optional<Lease> load_consistent() const noexcept {
    constexpr int kTries = 1000;
    for (int i = 0; i < kTries; ++i) {
      const std::uint64_t before = pair_.low.load(std::memory_order_acquire);
      const Lease lease = load();
      if (before >> 1U == lease.token()) return lease;
    }
    return std::nullopt;
  }

  bool swap(Lease expected, Lease desired) noexcept {
    return pair_.compare_exchange(expected.owner, expected.term, desired.owner, desired.term);
  }

  // What waiters sleep on: the low half holds the sleepers bit and the end of the token.
  [[nodiscard]] const std::atomic<std::uint64_t>& owner_word() const noexcept { return pair_.low; }

 private:
  sys::AtomicPair pair_;
};

}  // namespace mortise::table
