#include "lock/serialize.hpp"

#include <array>
#include <boost/crc.hpp>
#include <charconv>
#include <chrono>
#include <concepts>
#include <stdexcept>

namespace mortise::detail {

namespace {

constexpr std::string_view kName = "mortise";
constexpr std::string_view kVersion = "1";
constexpr char kSeparator = ':';
constexpr int kHex = 16;

[[noreturn]] void refuse(const std::string& reason) {
  throw std::invalid_argument("mortise: this is no serialized lock: " + reason);
}

std::string to_hex(std::uint64_t number, unsigned digits) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(digits, '0');
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, number >>= 4U)
    *digit = kDigits[number & 0xfU];
  return text;
}

std::string checksum_of(std::string_view text) {
  boost::crc_32_type crc;
  crc.process_bytes(text.data(), text.size());
  return to_hex(crc.checksum(), 8);
}

// The checksum has been compared: what is wrong here was made wrong on purpose.
template <std::unsigned_integral Number>
Number to_number(std::string_view text, int base) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc{} || end != text.data() + text.size()) refuse("a number in it is malformed");
  return number;
}

std::string bytes_of(std::string_view hex) {
  if (hex.size() % 2 != 0) refuse("its key is malformed");
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(to_number<std::uint8_t>(hex.substr(i, 2), kHex)));
  }
  return bytes;
}

std::string_view next_field(std::string_view& rest) {
  const std::size_t end = rest.find(kSeparator);
  if (end == std::string_view::npos) refuse("it is cut short");
  const std::string_view field = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  return field;
}

}  // namespace

std::string to_text(const SerializedLease& lease) {
  std::string text;
  for (const std::string& field :
       {std::string(kName), std::string(kVersion), std::to_string(lease.ttl.milliseconds().count()),
        std::to_string(lease.fencing_token), to_hex(lease.owner.as_number(), 16)}) {
    text += field + kSeparator;
  }
  for (const char byte : lease.key.bytes()) text += to_hex(static_cast<unsigned char>(byte), 2);
  text += kSeparator;
  return text + checksum_of(text);
}

SerializedLease from_text(std::string_view text) {
  std::string_view rest = text;
  if (next_field(rest) != kName) refuse("it does not begin with \"mortise:\"");
  if (const std::string_view version = next_field(rest); version != kVersion) {
    refuse("it has format version \"" + std::string(version.substr(0, 16)) +
           "\", this mortise reads version " + std::string(kVersion));
  }
  const std::string_view ttl = next_field(rest);
  const std::string_view fence = next_field(rest);
  const std::string_view token = next_field(rest);
  const std::string_view key = next_field(rest);
  if (rest != checksum_of(text.substr(0, text.size() - rest.size())))
    refuse("its checksum is wrong, it was changed or cut");

  constexpr int kDecimal = 10;
  const auto milliseconds = to_number<std::uint64_t>(ttl, kDecimal);
  if (milliseconds > static_cast<std::uint64_t>(Ttl::kMax.count())) refuse("its ttl is out of range");
  SerializedLease lease{LockKey(bytes_of(key)), Ttl(std::chrono::milliseconds(milliseconds)),
                        OwnerToken::from_number(to_number<std::uint64_t>(token, kHex)),
                        to_number<std::uint64_t>(fence, kDecimal)};
  // Leading zeros, capitals and the like: one lease has one text.
  if (to_text(lease) != text) refuse("it is not written as serialize() writes it");
  return lease;
}

}  // namespace mortise::detail
