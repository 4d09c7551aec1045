// The words every store speaks: keys, owner tokens and times to live.
// Each is a type of its own, so that two strings or two numbers are never swapped silently.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace mortise {

// The name of what is locked: 1 to 1,024 bytes of any value, compared byte by byte (C18).
// Keys of up to kInlineBytes are kept without an allocation. A key may be read by several threads at once.
class LockKey {
 public:
  static constexpr std::size_t kMaxBytes = 1024;
  static constexpr std::size_t kInlineBytes = 64;

  // Throws std::invalid_argument when the key is empty or longer than kMaxBytes; it is never cut. Implicit,
  // so that lock("invoice:42") and lock("invoice:" + id) read as they should.
  // NOLINTBEGIN(google-explicit-constructor)
  LockKey(std::string_view bytes) : size_(bytes.size()), short_{} {
    if (bytes.empty() || bytes.size() > kInlineBytes) make_room();
    std::memcpy(long_ ? long_.get() : short_.data(), bytes.data(), bytes.size());
  }
  LockKey(const char* text) : LockKey(std::string_view(text)) {}
  LockKey(const std::string& bytes) : LockKey(std::string_view(bytes)) {}
  // NOLINTEND(google-explicit-constructor)

  LockKey(const LockKey& other) : LockKey(other.bytes()) {}
  LockKey& operator=(const LockKey& other) { return *this = LockKey(other); }
  // A key that was moved from is empty: assign to it or destroy it.
  LockKey(LockKey&& other) noexcept
      : size_(std::exchange(other.size_, 0)),
        hint_(other.hint()),
        short_(other.short_),
        long_(std::move(other.long_)) {}
  LockKey& operator=(LockKey&& other) noexcept {
    size_ = std::exchange(other.size_, 0);
    set_hint(other.hint());
    short_ = other.short_;
    long_ = std::move(other.long_);
    return *this;
  }
  ~LockKey() = default;

  [[nodiscard]] std::string_view bytes() const noexcept {
    return {reinterpret_cast<const char*>(data()), size_};
  }
  // The same bytes as 8-byte words, the last one padded with zeros: what hashes and comparisons read.
  [[nodiscard]] std::span<const std::uint64_t> words() const noexcept {
    return {data(), (size_ + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t)};
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  // For stores: where one of them found the key last. 0: nowhere yet. It may be of another store, or out of
  // date: a store that uses it has to prove it.
  [[nodiscard]] std::uint64_t hint() const noexcept { return hint_.load(std::memory_order_relaxed); }
  void set_hint(std::uint64_t hint) const noexcept { hint_.store(hint, std::memory_order_relaxed); }

  friend bool operator==(const LockKey& a, const LockKey& b) noexcept { return a.bytes() == b.bytes(); }

 private:
  // For a key that is not short, or refuses it.
  void make_room();
  [[nodiscard]] const std::uint64_t* data() const noexcept { return long_ ? long_.get() : short_.data(); }

  std::size_t size_;
  mutable std::atomic<std::uint64_t> hint_ = 0;
  std::array<std::uint64_t, kInlineBytes / sizeof(std::uint64_t)> short_;
  std::unique_ptr<std::uint64_t[]> long_;
};

// Who holds a lease: a random number, drawn anew for every grant (C03). A secret: whoever knows it owns the
// lease. It is deliberately not streamable; as_number() is for stores and serialize() only.
class OwnerToken {
 public:
  static constexpr std::uint64_t kMin = 2;
  static constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max() >> 1U;

  // A fresh token from a generator that the kernel seeds, per thread, and again after a fork.
  static OwnerToken generate();
  // Throws std::invalid_argument outside kMin..kMax.
  static OwnerToken from_number(std::uint64_t number);

  [[nodiscard]] constexpr std::uint64_t as_number() const noexcept { return number_; }
  friend constexpr bool operator==(OwnerToken, OwnerToken) noexcept = default;

 private:
  constexpr explicit OwnerToken(std::uint64_t number) noexcept : number_(number) {}
  std::uint64_t number_;
};

// How long a lease lives: any chrono duration, rounded up to a millisecond; above zero, 365 days at most
// (C19).
class Ttl {
 public:
  static constexpr std::chrono::milliseconds kMax = std::chrono::hours(24 * 365);

  // Throws std::invalid_argument for zero, negative, NaN or more than kMax.
  template <class Rep, class Period>
  constexpr Ttl(std::chrono::duration<Rep, Period> ttl)  // NOLINT(google-explicit-constructor)
      : milliseconds_(checked(ttl)) {}

  [[nodiscard]] constexpr std::chrono::milliseconds milliseconds() const noexcept { return milliseconds_; }
  friend constexpr bool operator==(Ttl, Ttl) noexcept = default;

 private:
  template <class Rep, class Period>
  static constexpr std::chrono::milliseconds checked(std::chrono::duration<Rep, Period> ttl) {
    using Wide = std::chrono::duration<long double, std::milli>;
    if (!(ttl > ttl.zero())) throw std::invalid_argument("mortise: a lease's ttl must be above zero");
    // Compared as floating point first, so that no count of any unit can overflow the conversion.
    if (Wide(ttl) > Wide(kMax)) throw std::invalid_argument("mortise: a lease's ttl is 365 days at most");
    return std::chrono::ceil<std::chrono::milliseconds>(ttl);
  }
  std::chrono::milliseconds milliseconds_;
};

// How long to wait: any chrono duration. Below zero means zero; what does not fit means for ever.
class WaitTime {
 public:
  // Throws std::invalid_argument for NaN.
  template <class Rep, class Period>
  constexpr WaitTime(std::chrono::duration<Rep, Period> time)  // NOLINT(google-explicit-constructor)
      : nanoseconds_(clamped(time)) {}

  [[nodiscard]] constexpr std::chrono::nanoseconds nanoseconds() const noexcept { return nanoseconds_; }
  [[nodiscard]] constexpr bool is_zero() const noexcept { return nanoseconds_.count() == 0; }

 private:
  template <class Rep, class Period>
  static constexpr std::chrono::nanoseconds clamped(std::chrono::duration<Rep, Period> time) {
    using Wide = std::chrono::duration<long double, std::nano>;
    if constexpr (std::is_floating_point_v<Rep>) {
      if (std::isnan(time.count())) throw std::invalid_argument("mortise: a wait time is not a number");
    }
    if (time <= time.zero()) return std::chrono::nanoseconds::zero();
    if (Wide(time) >= Wide(std::chrono::nanoseconds::max())) return std::chrono::nanoseconds::max();
    return std::chrono::ceil<std::chrono::nanoseconds>(time);
  }
  std::chrono::nanoseconds nanoseconds_;
};

// How a waiter waits.
struct WaitOptions {
  WaitTime timeout;        // zero: one attempt
  WaitTime retry_delay;    // the longest sleep between two looks at the store
  std::stop_token stop{};  // ends the wait; a grant that happened wins
};

}  // namespace mortise
