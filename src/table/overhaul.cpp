#include "table/overhaul.hpp"

#include <algorithm>
#include <utility>

#include "table/recovery.hpp"
#include "table/stripe_reader.hpp"
#include "table/tallies.hpp"

namespace mortise::table {

namespace {

using Condition = sys::RobustMutex::Condition;

const char* remedy_for(Fault fault) {
  switch (fault) {
    case Fault::mutex:
      return "it was made anew";
    case Fault::dead_shaper:
      return "it was repaired now";
    case Fault::stalled_shaper:
      return "it is not attached, and has nothing here any more";
    case Fault::floor:
    case Fault::fence:
      return "the numbers go on above the wall clock's nanoseconds";
    case Fault::reservation:
    case Fault::lease_without_key:
    case Fault::key_length:
    case Fault::key_hash:
    case Fault::key_stripe:
    case Fault::key_twice:
      return "the slot was wiped";
    case Fault::tag:
      return "it was made anew";
    case Fault::expiry:
    case Fault::binding:
    case Fault::unused_process:
      return "the lease was ended";
  }
  return "nothing was done";
}

// Even without users somebody may release or extend a lease that was handed over: each change is a swap.
template <class Change>
void change(Slot& slot, Change&& changed) {
  Lease lease = slot.lease.load();
  while (!slot.lease.swap(lease, changed(lease))) lease = slot.lease.load();
}

class StripeOverhaul {
 public:
  StripeOverhaul(const segment::Segment& segment, StripeRef stripe)
      : segment_(segment), header_(segment.header()), stripe_(stripe) {}

  // check() tells the faults of the stripe first: its floor is right when its slots need it.
  void mend(const Flaw& flaw) {
    Slot& slot = stripe_.slot(flaw.slot);
    switch (flaw.fault) {
      case Fault::floor:
        return renew_floor();
      case Fault::fence:
        renew_floor();
        slot.fence_mark.store(stripe_.header().floor.load());
        return restart_count_of_grants(flaw, slot);
      case Fault::expiry:
      case Fault::binding:
      case Fault::unused_process:
        return change(slot, [](Lease lease) { return lease.is_held() ? lease.released() : lease; });
      case Fault::reservation:
      case Fault::lease_without_key:
      case Fault::key_length:
      case Fault::key_hash:
      case Fault::key_stripe:
      case Fault::key_twice:
        // What else was written there may be wrong, too: the numbers of what comes next begin where nobody
        // has been.
        renew_floor();
        restart_count_of_grants(flaw, slot);
        return change(slot, [](Lease lease) {
          return Lease::reserved(OwnerToken::generate().as_number(), lease.term);
        });
      case Fault::mutex:
      case Fault::dead_shaper:
      case Fault::stalled_shaper:
      case Fault::tag:
        return;
    }
  }

  // Wipes what is reserved, and makes the tags and the mutex anew. Nobody is attached, so nobody has the
  // mutex.
  void finish() {
    repair(stripe_);
    Stripe& stripe = stripe_.header();
    stripe.shaper.store(0);
    if (shape_condition(segment_, stripe).state != Condition::State::free) stripe.mutex.initialize();
  }

 private:
  // As a new segment would begin; a floor that may be right does not fall.
  void renew_floor() {
    Stripe& stripe = stripe_.header();
    std::uint64_t floor = header_.fence_base;
    const auto raise = [&](std::uint64_t fence) {
      if (is_plausible_fence(fence, header_)) floor = std::max(floor, fence);
    };
    raise(segment::fence_by_the_clock());
    raise(stripe.floor.load());
    for (unsigned i = 0; i < kSlotsPerStripe; ++i) raise(stripe_.slot(i).last_fence());
    stripe.floor.store(floor);
  }

  // Its fence says nothing of how many there were. What else was counted stays, marked whether it is or not.
  void restart_count_of_grants(const Flaw& flaw, const Slot& slot) {
    std::byte* const body = reinterpret_cast<std::byte*>(&stripe_.header()) - flaw.stripe_offset;
    const Geometry geometry(header_.slots);
    Arrival& arrival = Tallies(body, geometry).arrival_in(slot);
    arrival.begin(slot.last_fence());
    arrival.mark_tallied();
  }

  const segment::Segment& segment_;
  const segment::Header& header_;
  StripeRef stripe_;
};

void mend(segment::Segment& segment, const std::vector<Flaw>& flaws) {
  for (auto flaw = flaws.begin(); flaw != flaws.end();) {
    const std::uint64_t offset = flaw->stripe_offset;
    StripeOverhaul stripe(segment, {reinterpret_cast<Stripe*>(segment.body() + offset), flaw->slot_bytes});
    for (; flaw != flaws.end() && flaw->stripe_offset == offset; ++flaw) stripe.mend(*flaw);
    stripe.finish();
  }
}

bool end_lease_of_a_process(Slot& slot) {
  const Lease lease = slot.lease.load();
  if (!lease.is_held() || lease.binding() == Lease::kUnbound) return false;
  // A swap that fails was a release, or took the binding away.
  return slot.lease.swap(lease, lease.released());
}

// What is no flaw while there are users.
std::vector<std::string> end_what_users_left(segment::Segment& segment) {
  std::size_t leases = 0;
  std::size_t mutexes = 0;
  const Geometry geometry(segment.header().slots);
  for_each_stripe(segment.body(), geometry, [&](const StripeReader& reader) {
    const StripeRef stripe(reinterpret_cast<Stripe*>(segment.body() + reader.offset()),
                           reader.slots().slot_bytes);
    for (unsigned i = 0; i < kSlotsPerStripe; ++i) leases += end_lease_of_a_process(stripe.slot(i)) ? 1U : 0U;
    if (shape_condition(segment, reader.header()).state == Condition::State::free) return;
    StripeOverhaul(segment, stripe).finish();
    ++mutexes;
  });
  std::vector<std::string> done;
  if (leases != 0) done.push_back("leases of dead processes that were ended: " + std::to_string(leases));
  if (mutexes != 0)
    done.push_back("mutexes locked by nobody that were made anew: " + std::to_string(mutexes));
  return done;
}

}  // namespace

Overhaul overhaul(segment::Segment& segment, const segment::Exclusion& /*in_force*/) {
  // What one round mends may uncover something else.
  constexpr int kRounds = 3;
  Overhaul result;
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<Flaw> flaws = check(segment);
    mend(segment, flaws);
    for (const Flaw& flaw : flaws) result.done.push_back(describe(flaw) + "; " + remedy_for(flaw.fault));
    const std::vector<std::string> ended = end_what_users_left(segment);
    result.done.insert(result.done.end(), ended.begin(), ended.end());
    if (flaws.empty() && ended.empty()) break;
  }
  result.left = check(segment);
  return result;
}

}  // namespace mortise::table
