// restore_lock() takes what serialize() made, and nothing else: whatever text it accepts is, byte for byte,
// the one that the restored lock is serialized to.
#include <boost/crc.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "mortise/mortise.hpp"

namespace {

void restore(std::string_view text) {
  // It holds nothing: what is restored here was never acquired.
  static const auto store =
      std::make_shared<mortise::MemoryLockStore>(mortise::SegmentOptions{.slots = 64, .processes = 1});
  std::string again;
  try {
    again = mortise::restore_lock(text, store).serialize();
  } catch (const std::invalid_argument&) {
    return;
  }
  if (again == text) return;
  std::fprintf(stderr, "accepted: %.*s\nmeaning:  %s\n", static_cast<int>(text.size()), text.data(),
               again.c_str());
  std::abort();
}

// Fuzzers do not guess checksums.
std::string with_checksum(std::string_view body) {
  boost::crc_32_type crc;
  crc.process_bytes(body.data(), body.size());
  char checksum[9];
  std::snprintf(checksum, sizeof(checksum), "%08x", static_cast<unsigned>(crc.checksum()));
  return std::string(body) + checksum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  restore(text);
  restore(with_checksum(text.substr(0, text.rfind(':') + 1)));
  return 0;
}
