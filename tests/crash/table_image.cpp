#include "crash/table_image.hpp"

#include <linux/futex.h>

#include <algorithm>
#include <cstring>

#include "segment/layout.hpp"
#include "table/geometry.hpp"

namespace mortise::crash {

namespace {

using table::kSlotsPerStripe;
using table::Slot;
using table::Stripe;

std::string key_of(const Slot& slot, std::size_t capacity) {
  constexpr std::uint64_t kLengthMask = 0xffff;
  std::string key(std::min<std::size_t>(slot.identity.load() & kLengthMask, capacity), '\0');
  for (std::size_t i = 0; i < key.size(); i += sizeof(std::uint64_t)) {
    const std::uint64_t word = slot.key()[i / sizeof(word)].load();
    std::memcpy(key.data() + i, &word, std::min(sizeof(word), key.size() - i));
  }
  return key;
}

// The C library keeps the owner's thread id and the kernel's marks in the first word of a mutex. Where there
// are no mutexes, the stripe itself says who changes it.
std::uint32_t lock_word(const Stripe& stripe, segment::Guard guard) {
  if (guard == segment::Guard::file_lock) return stripe.shaper.load();
  std::uint32_t word = 0;
  std::memcpy(&word, &stripe.mutex, sizeof(word));
  return word;
}

StripeImage read_stripe(const std::byte* bytes, const table::SlotClass& shape, segment::Guard guard) {
  const auto& stripe = *reinterpret_cast<const Stripe*>(bytes);
  StripeImage image{lock_word(stripe, guard), stripe.floor.load(), shape.key_capacity(), {}};
  for (unsigned i = 0; i < kSlotsPerStripe; ++i) {
    const auto& slot =
        *reinterpret_cast<const Slot*>(bytes + sizeof(Stripe) + std::size_t{i} * shape.slot_bytes);
    image.slots.push_back({slot.lease.load_consistent().value_or(slot.lease.load()), slot.last_fence(),
                           slot.identity.load(), stripe.tag(i), key_of(slot, shape.key_capacity()),
                           sys::low_half(slot.lease.owner_word())});
  }
  return image;
}

}  // namespace

bool StripeImage::mutex_is_held_by(pid_t single_threaded) const {
  return (mutex_word & FUTEX_OWNER_DIED) == 0 &&
         (mutex_word & FUTEX_TID_MASK) == static_cast<std::uint32_t>(single_threaded);
}

const SlotImage* TableImage::find(std::string_view key) const {
  for (const StripeImage& stripe : stripes) {
    for (const SlotImage& slot : stripe.slots) {
      if (slot.is_known() && slot.key == key) return &slot;
    }
  }
  return nullptr;
}

TableImage read_table(std::span<const std::byte> segment) {
  const auto& header = *reinterpret_cast<const segment::Header*>(segment.data());
  TableImage table{header.hash_seed, header.fence_base, {}, {}};
  const auto* records =
      reinterpret_cast<const segment::ProcessRecord*>(segment.data() + segment::records_offset());
  for (std::uint32_t i = 0; i < header.processes; ++i) {
    table.processes.push_back(static_cast<pid_t>(records[i].pid.load()));
  }
  const std::byte* body = segment.data() + segment::body_offset(header.processes);
  const table::Geometry geometry(header.slots);
  for (const table::SlotClass& shape : geometry.classes()) {
    for (std::uint32_t i = 0; i < shape.stripes; ++i) {
      table.stripes.push_back(
          read_stripe(body + shape.offset + i * shape.stripe_bytes(), shape, header.guard));
    }
  }
  return table;
}

}  // namespace mortise::crash
