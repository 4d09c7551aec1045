#include "table/recovery.hpp"

namespace mortise::table {

void repair(StripeRef stripe) noexcept {
  Stripe& header = stripe.header();
  std::array<std::uint64_t, kSlotsPerStripe / Stripe::kTagsPerWord> tags{};
  for (unsigned i = 0; i < kSlotsPerStripe; ++i) {
    Slot& slot = stripe.slot(i);
    if (const Lease lease = slot.lease.load(); lease.is_reserved()) {
      // The key that lived here may come back in any slot of the stripe: its fences must not.
      header.raise_floor(slot.fence(lease));
      slot.identity.store(0, std::memory_order_relaxed);
      slot.lease.swap(lease, lease.wiped());
    }
    const std::uint64_t tag = Place::tag_of(slot.identity.load(std::memory_order_relaxed));
    tags[i / Stripe::kTagsPerWord] |= tag << Stripe::shift(i);
  }
  // Whole words: the tag of a key that lives here is never missing for a moment.
  for (unsigned i = 0; i < tags.size(); ++i) header.tags[i].store(tags[i], std::memory_order_release);
}

}  // namespace mortise::table
