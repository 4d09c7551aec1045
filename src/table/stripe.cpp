#include "table/stripe.hpp"

#include <algorithm>
#include <ctime>

#include "sys/process.hpp"
#include "table/recovery.hpp"

namespace mortise::table {

namespace {

bool holds(const Slot& slot, const LockKey& key) noexcept {
  const auto words = key.words();
  const auto* stored = slot.key();
  return std::equal(words.begin(), words.end(), stored,
                    [](std::uint64_t a, const std::atomic<std::uint64_t>& b) {
                      return a == b.load(std::memory_order_relaxed);
                    });
}

// A bit in each byte of `word` that equals `tag`; above such a byte others may be marked too, and are looked
// at in vain.
std::uint64_t matching_bytes(std::uint64_t word, std::uint8_t tag) noexcept {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  const std::uint64_t difference = word ^ (kOnes * tag);
  return (difference - kOnes) & ~difference & (kOnes << 7U);
}

bool shaper_is_stopped(const Stripe& stripe, const segment::ProcessSlots& processes) {
  const std::uint32_t binding = stripe.shaper.load(std::memory_order_relaxed);
  return sys::is_stopped(processes.info(static_cast<segment::ProcessSlot>(binding - 1)).pid);
}

}  // namespace

StripeRef::Found StripeRef::look(unsigned index, const Place& place, const LockKey& key) const noexcept {
  Slot& slot = this->slot(index);
  if (slot.identity.load(std::memory_order_relaxed) != place.identity) return {};
  // The word is read before the key: while it stays as it is, so does the key.
  const Lease lease = slot.lease.load();
  if (slot.identity.load(std::memory_order_relaxed) != place.identity || !holds(slot, key)) return {};
  return {&slot, lease, index};
}

StripeRef::Found StripeRef::find(const Place& place, const LockKey& key) const noexcept {
  if (const Found found = look(place.home, place, key)) return found;
  for (unsigned word = 0; word < stripe_->tags.size(); ++word) {
    std::uint64_t matches = matching_bytes(stripe_->tags[word].load(std::memory_order_acquire), place.tag);
    for (; matches != 0; matches &= matches - 1) {
      const unsigned index =
          word * Stripe::kTagsPerWord + static_cast<unsigned>(std::countr_zero(matches)) / 8;
      if (const Found found = look(index, place, key)) return found;
    }
  }
  return {};
}

ShapeLock::ShapeLock(StripeRef stripe, std::uint64_t binding, sys::TimePoint deadline,
                     const segment::ProcessSlots& processes)
    : stripe_(stripe.header()) {
  using Outcome = sys::RobustMutex::Outcome;
  Outcome outcome = stripe_.mutex.try_lock();
  if (outcome == Outcome::busy) {
    // Far longer than anybody holds it who is on a processor; then far longer than anybody waits for one.
    const sys::TimePoint now = sys::Clock::now();
    const sys::TimePoint brief = std::max(deadline, now + std::chrono::milliseconds(20));
    const sys::TimePoint last = std::max(deadline, now + std::chrono::seconds(1));
    constexpr long kLongestNap = 1'000'000;
    for (long nap = 1'000; outcome == Outcome::busy && sys::Clock::now() < last;
         nap = std::min(2 * nap, kLongestNap)) {
      if (sys::Clock::now() >= brief && shaper_is_stopped(stripe_, processes)) return;
      const timespec pause{0, nap};
      nanosleep(&pause, nullptr);
      outcome = stripe_.mutex.try_lock();
    }
  }
  if (outcome == Outcome::busy) return;
  if (outcome == Outcome::unusable) {
    state_ = State::unusable;
    return;
  }
  stripe_.shaper.store(static_cast<std::uint32_t>(binding), std::memory_order_relaxed);
  if (outcome == Outcome::owner_died) {
    repair(stripe);
    stripe_.mutex.mark_consistent();
  }
  state_ = State::locked;
}

ShapeLock::~ShapeLock() {
  if (state_ == State::locked) stripe_.mutex.unlock();
}

}  // namespace mortise::table
