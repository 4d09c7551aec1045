// A whole segment at one moment, read without the code under test's look-up: every slot, whatever its tag.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sys/futex.hpp"
#include "table/lease.hpp"

namespace mortise::crash {

struct SlotImage {
  table::Lease lease;
  std::uint64_t fence;
  std::uint64_t identity;
  std::uint8_t tag;
  std::string key;            // as many bytes as the identity says and the slot has
  sys::FutexWord sleep_word;  // in the segment: what the waiters for the key sleep on

  // Does a key live here?
  [[nodiscard]] bool is_known() const { return identity != 0 && !lease.is_reserved(); }
};

struct StripeImage {
  std::uint32_t mutex_word;
  std::uint64_t floor;
  std::size_t key_capacity;
  std::vector<SlotImage> slots;

  [[nodiscard]] bool mutex_is_free() const { return mutex_word == 0; }
  [[nodiscard]] bool mutex_is_held_by(pid_t single_threaded) const;
};

struct TableImage {
  std::uint64_t hash_seed;
  std::uint64_t fence_base;
  std::vector<pid_t> processes;  // what the process slots say
  std::vector<StripeImage> stripes;

  // nullptr: the table does not know the key.
  [[nodiscard]] const SlotImage* find(std::string_view key) const;
};

TableImage read_table(std::span<const std::byte> segment);

}  // namespace mortise::crash
