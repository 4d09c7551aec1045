#include "store/redis/key_names.hpp"

#include <algorithm>

namespace mortise::store::redis {

namespace {

constexpr std::string_view kReserved = ":mortise";
constexpr char kEscape = '~';

// Does it look like a name of this library's own, or like a lease that had to be told from one?
bool ends_as_reserved(std::string_view name) {
  const std::size_t end = name.find_last_not_of(kEscape);
  return end != std::string_view::npos && name.substr(0, end + 1).ends_with(kReserved);
}

// What stands between the first "{" and the next "}"; empty: there is no tag.
std::string_view tag_of(std::string_view name) {
  const std::size_t open = name.find('{');
  if (open == std::string_view::npos) return {};
  const std::size_t close = name.find('}', open + 1);
  return close == std::string_view::npos ? std::string_view() : name.substr(open + 1, close - open - 1);
}

// CRC-16/XMODEM, which the cluster's specification asks for.
std::uint16_t crc16(std::string_view bytes) {
  constexpr unsigned kPolynomial = 0x1021;
  constexpr unsigned kTopBit = 0x8000;
  unsigned crc = 0;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned>(static_cast<unsigned char>(byte)) << 8U;
    for (int bit = 0; bit < 8; ++bit) crc = (crc << 1U) ^ ((crc & kTopBit) != 0 ? kPolynomial : 0U);
  }
  return static_cast<std::uint16_t>(crc);
}

// A tag of the same slot, for a name that cannot be a tag itself.
std::string tag_for_slot(std::uint16_t slot) {
  for (unsigned number = 0;; ++number) {
    std::string tag = std::to_string(number);
    if (slot_of(tag) == slot) return tag;
  }
}

// Each form has endings of its own, so that no two leases share a name beside them.
struct Companion {
  std::string stem;
  char form;
};

Companion companion_of(const std::string& lease) {
  if (!tag_of(lease).empty()) return {lease, 't'};
  if (lease.find('}') == std::string::npos) return {std::string(1, '{').append(lease).append(1, '}'), 'n'};
  return {std::string(1, '{').append(tag_for_slot(slot_of(lease))).append(1, '}').append(lease), 's'};
}

}  // namespace

std::uint16_t slot_of(std::string_view name) {
  constexpr unsigned kSlots = 16384;
  const std::string_view tag = tag_of(name);
  return static_cast<std::uint16_t>(crc16(tag.empty() ? name : tag) % kSlots);
}

KeyNames names_of(std::string_view prefix, const LockKey& key) {
  KeyNames names{std::string(prefix).append(key.bytes()), {}, {}};
  if (ends_as_reserved(names.lease)) names.lease += kEscape;
  const auto [stem, form] = companion_of(names.lease);
  names.notes = std::string(stem).append(":notes-").append(1, form).append(kReserved);
  names.bell = std::string(stem).append(":bell-").append(1, form).append(kReserved);
  return names;
}

std::string_view key_of_lease(std::string_view prefix, std::string_view lease) {
  if (!lease.starts_with(prefix) || lease.ends_with(kReserved)) return {};
  if (lease.ends_with(kEscape) && ends_as_reserved(lease)) lease.remove_suffix(1);
  const std::string_view key = lease.substr(std::min(lease.size(), prefix.size()));
  return key.size() <= LockKey::kMaxBytes ? key : std::string_view();
}

}  // namespace mortise::store::redis
