// A table of one stripe per slot class, without a file, and the stripe behind it.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "table/key_hash.hpp"
#include "table/lock_table.hpp"

namespace mortise::table {

struct SmallTable {
  static constexpr std::uint32_t kProcesses = 16;
  std::shared_ptr<segment::Segment> segment =
      segment::Segment::anonymous(LockTable::plan(kSlotsPerStripe, kProcesses, segment::Guard::robust_mutex));
  LockTable table{segment};

  [[nodiscard]] StripeRef stripe(std::size_t key_bytes = 1) const {
    const SlotClass slots = Geometry(kSlotsPerStripe).class_for(key_bytes);
    return {reinterpret_cast<Stripe*>(segment->body() + slots.offset), slots.slot_bytes};
  }
  [[nodiscard]] Place place(const LockKey& key) const {
    return Place::of(hash_of(key, segment->header().hash_seed), key.size());
  }
  [[nodiscard]] Slot& slot_of(const LockKey& key) const {
    return *stripe(key.size()).find(place(key), key).slot;
  }

  LockTable::Attempt acquire(const LockKey& key, OwnerToken owner, Ttl ttl = std::chrono::seconds(60)) {
    return table.acquire(key, owner, ttl, std::chrono::nanoseconds(0));
  }
  // The fence of a grant that is given back at once; 0 when there was none.
  std::uint64_t touch(const LockKey& key) {
    const OwnerToken owner = OwnerToken::generate();
    const auto attempt = acquire(key, owner);
    if (attempt.outcome == LockTable::Outcome::granted) table.release(key, owner);
    return attempt.fence;
  }
};

inline std::vector<std::string> numbered_keys(std::size_t count, const std::string& prefix = "key:") {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < count; ++i) keys.push_back(prefix + std::to_string(i));
  return keys;
}

}  // namespace mortise::table
