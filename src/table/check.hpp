// What is wrong with a table. It is only read, may be in use, and may hold any bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "segment/segment.hpp"

namespace mortise::table {

enum class Fault : std::uint8_t {
  // Of a stripe.
  mutex,           // no state that locking leads to
  floor,           // a number that no grant has reached
  dead_shaper,     // its process died while it added a key: no damage, the next who adds one repairs it
  stalled_shaper,  // its process was stopped while it adds a key: no damage
  // Of the key in a slot.
  reservation,  // nobody is adding a key
  lease_without_key,
  key_length,  // of another slot size, or of no key
  key_hash,    // not the one that the identity was made of
  key_stripe,  // belongs in another one
  key_twice,   // lives in another slot, too, with a higher fence
  // Of a slot otherwise.
  tag,             // not that of the key, which so is not found
  fence,           // a number that was never granted
  expiry,          // later than any lease ends
  binding,         // to a process slot that does not exist
  unused_process,  // bound to a process slot that nobody ever had
};

struct Flaw {
  Fault fault;
  std::uint64_t stripe_offset;  // in the body
  std::uint32_t slot_bytes;
  unsigned slot;      // of a stripe's faults: 0
  std::string where;  // in words
};

[[nodiscard]] bool is_damage(Fault fault);
// A sentence, without its full stop.
[[nodiscard]] std::string describe(const Flaw& flaw);

// Of a segment that fits (LockTable::fits). What a table may show while it is used is no flaw: each one was
// seen in a slot, or in two, that did not change meanwhile.
std::vector<Flaw> check(const segment::Segment& segment);

// Process slots that are taken, though their records say that nobody is attached, for longer than it takes to
// attach: no damage, for their processes may have been stopped meanwhile.
std::vector<segment::ProcessSlot> unrecorded_processes(const segment::Segment& segment);

// Can a number have been granted in that segment?
[[nodiscard]] bool is_plausible_fence(std::uint64_t fence, const segment::Header& header);

}  // namespace mortise::table
