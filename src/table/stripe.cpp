#include "table/stripe.hpp"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <ctime>
#include <utility>

#include "sys/process.hpp"
#include "table/recovery.hpp"

namespace mortise::table {

namespace {

#ifdef __SSE2__

// Of 16 slots: a bit for each whose tag it is.
std::uint64_t tagged(std::uint64_t low, std::uint64_t high, std::uint8_t tag) noexcept {
  const __m128i tags = _mm_set_epi64x(static_cast<long long>(high), static_cast<long long>(low));
  const __m128i equal = _mm_cmpeq_epi8(tags, _mm_set1_epi8(static_cast<char>(tag)));
  return static_cast<std::uint64_t>(_mm_movemask_epi8(equal));
}

#else

std::uint64_t tagged(std::uint64_t tags, std::uint8_t tag) noexcept {
  std::uint64_t bits = 0;
  for (unsigned slot = 0; slot < Stripe::kTagsPerWord; ++slot)
    bits |= std::uint64_t{static_cast<std::uint8_t>(tags >> Stripe::shift(slot)) == tag} << slot;
  return bits;
}
std::uint64_t tagged(std::uint64_t low, std::uint64_t high, std::uint8_t tag) noexcept {
  return tagged(low, tag) | tagged(high, tag) << Stripe::kTagsPerWord;
}

#endif

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

std::uint64_t Stripe::slots_tagged(std::uint8_t tag) const noexcept {
  std::uint64_t slots = 0;
  for (unsigned word = 0; word < tags.size(); word += 2) {
    slots |= tagged(tags[word].load(std::memory_order_acquire),
                    tags[word + 1].load(std::memory_order_acquire), tag)
             << word * kTagsPerWord;
  }
  return slots;
}

bool StripeRef::find_away_from_home(const Place& place, const LockKey& key, Found& found) const noexcept {
  for (std::uint64_t slots = stripe_->slots_tagged(place.tag); slots != 0; slots &= slots - 1) {
    if (look(static_cast<unsigned>(std::countr_zero(slots)), place, key, found)) return true;
  }
  return false;
}

std::optional<unsigned> StripeRef::unused_slot(unsigned from) const noexcept {
  const std::uint64_t unused = stripe_->slots_tagged(0);
  if (unused == 0) return std::nullopt;
  const int next = std::countr_zero(std::rotr(unused, static_cast<int>(from)));
  return (from + static_cast<unsigned>(next)) % kSlotsPerStripe;
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

ShapeLock::Outcome ShapeLock::try_for(std::chrono::nanoseconds patience) {
  Outcome outcome = try_lock();
  if (outcome != Outcome::busy) return outcome;
  // Far longer than anybody holds it who is on a processor; then far longer than anybody waits for one.
  waiting_since_ = sys::Clock::now();
  const auto until = [&](std::chrono::nanoseconds at_least) {
    return sys::later(waiting_since_, std::max(patience, at_least));
  };
  const sys::TimePoint brief = until(std::chrono::milliseconds(20));
  const sys::TimePoint last = until(std::chrono::seconds(1));
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
                     std::chrono::nanoseconds patience)
    : segment_(segment), stripe_(stripe.header()) {
  const Outcome outcome = try_for(patience);
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
