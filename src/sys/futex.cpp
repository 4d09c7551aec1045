#include "sys/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <ctime>

namespace mortise::sys {

namespace {

struct timespec to_timespec(TimePoint time) noexcept {
  using std::chrono::nanoseconds;
  using std::chrono::seconds;
  const auto since = std::max(time.time_since_epoch(), TimePoint::duration::zero());
  const auto whole = std::chrono::duration_cast<seconds>(since);
  return {static_cast<time_t>(whole.count()), static_cast<long>(nanoseconds(since - whole).count())};
}

long futex(FutexWord word, int operation, std::uint32_t value, const void* timeout_or_count, FutexWord second,
           std::uint32_t value3) noexcept {
  return syscall(SYS_futex, word, operation, value, timeout_or_count, second, value3);
}

}  // namespace

FutexWord low_half(const std::atomic<std::uint64_t>& word) noexcept {
  const auto* halves = reinterpret_cast<const std::uint32_t*>(&word);
  return halves + (std::endian::native == std::endian::little ? 0 : 1);
}

void futex_wait(FutexWord word, std::uint32_t expected, TimePoint until) noexcept {
  // FUTEX_WAIT_BITSET takes an absolute time of CLOCK_MONOTONIC; FUTEX_WAIT a relative one.
  const struct timespec deadline = to_timespec(until);
  futex(word, FUTEX_WAIT_BITSET, expected, &deadline, nullptr, FUTEX_BITSET_MATCH_ANY);
}

void futex_wait_either(FutexWord word, std::uint32_t expected, FutexWord second, TimePoint until) noexcept {
  std::array<futex_waitv, 2> waiters{};
  waiters[0].uaddr = reinterpret_cast<std::uintptr_t>(word);
  waiters[0].val = expected;
  waiters[0].flags = FUTEX_32;
  waiters[1].uaddr = reinterpret_cast<std::uintptr_t>(second);
  waiters[1].flags = FUTEX_32;
  const struct timespec deadline = to_timespec(until);
  const long woken = syscall(SYS_futex_waitv, waiters.data(), waiters.size(), 0, &deadline, CLOCK_MONOTONIC);
  if (woken == -1 && (errno == ENOSYS || errno == EPERM)) {
    // Before Linux 5.16, or behind a seccomp filter that does not know it: the second word is looked at every
    // millisecond.
    futex_wait(word, expected, std::min(until, Clock::now() + std::chrono::milliseconds(1)));
  }
}

int futex_wake(FutexWord word, int count) noexcept {
  const long woken = futex(word, FUTEX_WAKE, static_cast<std::uint32_t>(count), nullptr, nullptr, 0);
  return woken > 0 ? static_cast<int>(woken) : 0;
}

unsigned count_sleepers(FutexWord word) noexcept {
  // Requeues everybody from the word to itself: the kernel counts them and moves none.
  const long count = futex(word, FUTEX_REQUEUE, 0, reinterpret_cast<const void*>(kAllSleepers), word, 0);
  return count > 0 ? static_cast<unsigned>(count) : 0;
}

}  // namespace mortise::sys
