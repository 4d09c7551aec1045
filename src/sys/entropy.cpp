#include "sys/entropy.hpp"

#include <sys/random.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>

#include "sys/process.hpp"

namespace mortise::sys {

namespace {

void fill_from_kernel(void* buffer, std::size_t size) noexcept {
  auto* next = static_cast<std::byte*>(buffer);
  while (size > 0) {
    const ssize_t got = getrandom(next, size, 0);
    if (got < 0) {
      continue;  // EINTR: the only error that a valid buffer and no flags leave
    }
    next += got;
    size -= static_cast<std::size_t>(got);
  }
}

// xoshiro256++ by Blackman and Vigna (public domain): 256 bits of state, no value more likely than another.
class Generator {
 public:
  std::uint64_t next() {
    if (const std::uint64_t now = incarnation(); now != seeded_in_) seed(now);
    auto& s = state_;
    const std::uint64_t result = std::rotl(s[0] + s[3], 23) + s[0];
    const std::uint64_t t = s[1] << 17U;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = std::rotl(s[3], 45);
    return result;
  }

 private:
  // Out of line, so that next() saves no registers.
  [[gnu::noinline]] void seed(std::uint64_t now) {
    fill_from_kernel(state_.data(), sizeof(state_));
    seeded_in_ = now;
  }

  std::array<std::uint64_t, 4> state_{};
  std::uint64_t seeded_in_ = 0;
};

}  // namespace

std::uint64_t kernel_random() noexcept {
  std::uint64_t number = 0;
  fill_from_kernel(&number, sizeof(number));
  return number;
}

std::uint64_t thread_random() {
  thread_local Generator generator;
  return generator.next();
}

}  // namespace mortise::sys
