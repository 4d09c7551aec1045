// Sleeping on a word that processes share. Never with FUTEX_PRIVATE_FLAG: a private sleeper is not woken from
// another process.
#pragma once

#include <atomic>
#include <cstdint>

#include "sys/clock.hpp"

namespace mortise::sys {

// Half of an 8-byte word, as the kernel sees it.
using FutexWord = const std::uint32_t*;
FutexWord low_half(const std::atomic<std::uint64_t>& word) noexcept;

// Sleeps while *word == expected, until `until` at the latest. Returns early for any reason whatever (a wake,
// a signal, a word that differs): the caller looks again.
void futex_wait(FutexWord word, std::uint32_t expected, TimePoint until) noexcept;

// The same, and also returns when *second differs from 0 or is woken.
void futex_wait_either(FutexWord word, std::uint32_t expected, FutexWord second, TimePoint until) noexcept;

// Wakes up to `count` sleepers and says how many there were.
int futex_wake(FutexWord word, int count) noexcept;
constexpr int kAllSleepers = 0x7fffffff;

// How many sleep on the word now. Exact, for it is the kernel's own queue that is counted: dead waiters are
// not in it. Works on a read-only mapping and wakes nobody.
unsigned count_sleepers(FutexWord word) noexcept;

}  // namespace mortise::sys
