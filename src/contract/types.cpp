#include "mortise/types.hpp"

#include <cstring>
#include <stdexcept>
#include <string>

#include "sys/entropy.hpp"

namespace mortise {

LockKey::LockKey(std::string_view bytes) : size_(bytes.size()), short_{} {
  if (bytes.empty()) throw std::invalid_argument("mortise: a lock's key must not be empty");
  if (bytes.size() > kMaxBytes) {
    throw std::invalid_argument("mortise: a lock's key is " + std::to_string(kMaxBytes) +
                                " bytes at most, not " + std::to_string(bytes.size()));
  }
  if (bytes.size() > kInlineBytes) long_ = std::make_unique<std::uint64_t[]>(words().size());
  std::memcpy(long_ ? long_.get() : short_.data(), bytes.data(), bytes.size());
}

OwnerToken OwnerToken::generate() {
  for (;;) {
    const std::uint64_t number = sys::thread_random() & kMax;
    if (number >= kMin) return OwnerToken(number);
  }
}

OwnerToken OwnerToken::from_number(std::uint64_t number) {
  if (number < kMin || number > kMax)
    throw std::invalid_argument("mortise: no store gives out this owner token");
  return OwnerToken(number);
}

}  // namespace mortise
