#include "mortise/types.hpp"

#include <stdexcept>
#include <string>

#include "sys/entropy.hpp"

namespace mortise {

void LockKey::make_room() {
  if (size_ == 0) throw std::invalid_argument("mortise: a lock's key must not be empty");
  if (size_ > kMaxBytes) {
    throw std::invalid_argument("mortise: a lock's key is " + std::to_string(kMaxBytes) +
                                " bytes at most, not " + std::to_string(size_));
  }
  long_ = std::make_unique<std::uint64_t[]>(words().size());
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
