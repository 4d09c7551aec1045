#include "table/stripe.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

#include "sys/process.hpp"
#include "table/recovery.hpp"

namespace mortise::table {

namespace {

// A bit in each byte of `word` that equals `tag`; above such a byte others may be marked too, and are looked
// at in vain.
std::uint64_t matching_bytes(std::uint64_t word, std::uint8_t tag) noexcept {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  const std::uint64_t difference = word ^ (kOnes * tag);
  return (difference - kOnes) & ~difference & (kOnes << 7U);
}

// The slot that the lowest of these bits means.
unsigned first_match(unsigned word, std::uint64_t matches) noexcept {
  return word * Stripe::kTagsPerWord + static_cast<unsigned>(std::countr_zero(matches)) / 8;
}

}  // namespace

// Bounded only for a mark that somebody scribbles on: it moves at every 32nd grant.
std::uint64_t Slot::last_fence() const noexcept {
  constexpr int kTries = 1000;
  std::uint64_t mark = fence_mark.load(std::memory_order_acquire);
  for (int i = 0;; ++i) {
    const std::uint64_t fence = lease.load().fence(mark);
    const std::uint64_t before = std::exchange(mark, fence_mark.load(std::memory_order_acquire));
    if (mark == before || i == kTries) return fence;
  }
}

// Why it may be late: the mark was that of `seen`, for the word was still the same after it was read. If
// another has moved the mark since, the swap fails, for it only goes up; if none has, it goes to a fence that
// was granted, which changes no fence of any word.
bool Slot::move_mark(Lease seen) noexcept {
  std::uint64_t mark = fence_mark.load(std::memory_order_acquire);
  return lease.load() == seen &&
         fence_mark.compare_exchange_strong(mark, seen.fence(mark), std::memory_order_relaxed);
}

bool StripeRef::find_away_from_home(const Place& place, const LockKey& key, Found& found) const noexcept {
  for (unsigned word = 0; word < stripe_->tags.size(); ++word) {
    std::uint64_t matches = matching_bytes(stripe_->tags[word].load(std::memory_order_acquire), place.tag);
    for (; matches != 0; matches &= matches - 1) {
      if (look(first_match(word, matches), place, key, found)) return true;
    }
  }
  return false;
}

std::optional<unsigned> StripeRef::unused_slot(unsigned from) const noexcept {
  const auto words = static_cast<unsigned>(stripe_->tags.size());
  const unsigned first = from / Stripe::kTagsPerWord;
  // The first word is looked at twice: from its middle, and for what lies before that at the end.
  for (unsigned i = 0; i <= words; ++i) {
    const unsigned word = (first + i) % words;
    std::uint64_t matches = matching_bytes(stripe_->tags[word].load(std::memory_order_relaxed), 0);
    if (i == 0) matches &= ~std::uint64_t{0} << Stripe::shift(from);
    for (; matches != 0; matches &= matches - 1) {
      const unsigned index = first_match(word, matches);
      if (stripe_->tag(index) == 0) return index;
    }
  }
  return std::nullopt;
}

// Under a file lock nobody says that the one before died: the stripe still names him then.
ShapeLock::Outcome ShapeLock::try_lock() noexcept {
  if (segment_.header().guard == segment::Guard::robust_mutex) return stripe_.mutex.try_lock();
  switch (segment_.try_lock_file(&stripe_)) {
    case segment::FileGuard::Outcome::locked:
      return stripe_.shaper.load(std::memory_order_acquire) == 0 ? Outcome::locked : Outcome::owner_died;
    case segment::FileGuard::Outcome::busy:
      return Outcome::busy;
    case segment::FileGuard::Outcome::unusable:
      break;
  }
  return Outcome::unusable;
}

bool ShapeLock::shaper_is_stopped() const {
  const std::uint32_t binding = stripe_.shaper.load(std::memory_order_relaxed);
  const auto shaper = segment_.processes().info(static_cast<segment::ProcessSlot>(binding - 1));
  return sys::is_stopped(shaper.pid_in_this_namespace());
}

ShapeLock::Outcome ShapeLock::try_until(sys::TimePoint deadline) {
  Outcome outcome = try_lock();
  if (outcome != Outcome::busy) return outcome;
  // Far longer than anybody holds it who is on a processor; then far longer than anybody waits for one.
  const sys::TimePoint now = sys::Clock::now();
  const sys::TimePoint brief = std::max(deadline, now + std::chrono::milliseconds(20));
  const sys::TimePoint last = std::max(deadline, now + std::chrono::seconds(1));
  constexpr long kLongestNap = 1'000'000;
  for (long nap = 1'000; outcome == Outcome::busy && sys::Clock::now() < last;
       nap = std::min(2 * nap, kLongestNap)) {
    if (sys::Clock::now() >= brief && shaper_is_stopped()) break;
    const timespec pause{0, nap};
    nanosleep(&pause, nullptr);
    outcome = try_lock();
  }
  return outcome;
}

ShapeLock::ShapeLock(segment::Segment& segment, StripeRef stripe, std::uint64_t binding,
                     sys::TimePoint deadline)
    : segment_(segment), stripe_(stripe.header()) {
  const Outcome outcome = try_until(deadline);
  if (outcome == Outcome::busy) return;
  if (outcome == Outcome::unusable) {
    state_ = State::unusable;
    return;
  }
  stripe_.shaper.store(static_cast<std::uint32_t>(binding), std::memory_order_release);
  if (outcome == Outcome::owner_died) {
    repair(stripe);
    if (segment.header().guard == segment::Guard::robust_mutex) stripe_.mutex.mark_consistent();
  }
  state_ = State::locked;
}

ShapeLock::~ShapeLock() {
  if (state_ != State::locked) return;
  stripe_.shaper.store(0, std::memory_order_release);
  if (segment_.header().guard == segment::Guard::robust_mutex) {
    stripe_.mutex.unlock();
  } else {
    segment_.unlock_file(&stripe_);
  }
}

}  // namespace mortise::table
