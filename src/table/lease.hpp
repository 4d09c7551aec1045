// The lease word: who holds a slot's key, and until when. Everything that happens to a lease is one 16-byte
// swap of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "mortise/types.hpp"
#include "sys/atomic16.hpp"
#include "sys/clock.hpp"

namespace mortise::table {

// owner                                    term                                     state
// 0                      | sleepers bit    stamp                                    free
// 1 << 1                 | sleepers bit    stamp                                    reserved: the slot's key
// changes token << 1, token >= 2 | sleepers bit    expiry in µs << 16 | process slot + 1    held
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
struct Lease {
  static constexpr std::uint64_t kSleepersBit = 1;
  static constexpr std::uint64_t kReserved = 1;  // in place of a token
  static constexpr unsigned kProcessBits = 16;
  static constexpr std::uint64_t kUnbound = 0;

  std::uint64_t owner = 0;
  std::uint64_t term = 0;

  static constexpr Lease free(std::uint64_t stamp, bool sleepers) {
    return {static_cast<std::uint64_t>(sleepers), stamp};
  }
  static constexpr Lease reserved(std::uint64_t stamp) { return {kReserved << 1U, stamp}; }
  template <class Duration>
  static constexpr Lease held(OwnerToken token, std::chrono::time_point<sys::Clock, Duration> expiry,
                              std::uint64_t binding, bool sleepers) {
    return {token.as_number() << 1U | static_cast<std::uint64_t>(sleepers),
            micros(expiry) << kProcessBits | binding};
  }
  // The binding of a process slot.
  static constexpr std::uint64_t bound_to(std::uint16_t process_slot) { return process_slot + 1ULL; }

  [[nodiscard]] constexpr std::uint64_t token() const { return owner >> 1U; }
  [[nodiscard]] constexpr bool has_sleepers() const { return (owner & kSleepersBit) != 0; }
  [[nodiscard]] constexpr bool is_free() const { return token() == 0; }
  [[nodiscard]] constexpr bool is_reserved() const { return token() == kReserved; }
  [[nodiscard]] constexpr bool is_held() const { return token() >= OwnerToken::kMin; }
  [[nodiscard]] bool is_held_by(OwnerToken owner_token) const { return token() == owner_token.as_number(); }

  // Of a held word.
  [[nodiscard]] constexpr std::uint64_t binding() const { return term & ((1U << kProcessBits) - 1); }
  [[nodiscard]] constexpr sys::TimePoint expiry() const {
    return sys::TimePoint(sys::Micros(static_cast<std::int64_t>(term >> kProcessBits)));
  }

  [[nodiscard]] constexpr Lease with_sleepers(bool sleepers) const {
    return {(owner & ~kSleepersBit) | static_cast<std::uint64_t>(sleepers), term};
  }
  [[nodiscard]] constexpr Lease with_binding(std::uint64_t binding_to) const {
    return {owner, (term & ~((1ULL << kProcessBits) - 1)) | binding_to};
  }
  [[nodiscard]] constexpr Lease with_expiry(sys::TimePoint expiry) const {
    return {owner, micros(expiry) << kProcessBits | binding()};
  }
  // What a release makes of a held word.
  [[nodiscard]] constexpr Lease released() const { return free(token(), has_sleepers()); }

  friend constexpr bool operator==(Lease, Lease) = default;

 private:
  // Rounded up: a lease never ends early. 48 bits last for 8.9 years of uptime and ttl; beyond, the expiry
  // stays there.
  template <class Duration>
  static constexpr std::uint64_t micros(std::chrono::time_point<sys::Clock, Duration> time) {
    constexpr std::int64_t kLast = (std::int64_t{1} << 48U) - 1;
    const auto count = std::chrono::ceil<sys::Micros>(time.time_since_epoch()).count();
    return static_cast<std::uint64_t>(count < kLast ? count : kLast);
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
