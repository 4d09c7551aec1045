// A 16-byte compare-and-swap. The compiler's builtins would pull in libatomic and, under a sanitizer, swap
// under a lock of this process alone: neither is any good in memory that processes share.
#pragma once

#include <atomic>
#include <cstdint>

#if defined(__SANITIZE_THREAD__)
#define MORTISE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MORTISE_TSAN 1
#endif
#endif

#ifdef MORTISE_TSAN
extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
}
#endif

namespace mortise::sys {

// Two 8-byte words that are swapped together and may be read one by one. Whoever places a pair aligns it to
// 16 bytes.
struct AtomicPair {
  std::atomic<std::uint64_t> low;
  std::atomic<std::uint64_t> high;

  // Sequentially consistent. True when the pair was {expected_low, expected_high} and is now {low, high}.
  bool compare_exchange(std::uint64_t expected_low, std::uint64_t expected_high, std::uint64_t desired_low,
                        std::uint64_t desired_high) noexcept {
#ifdef MORTISE_TSAN
    __tsan_release(this);
#endif
    const bool swapped = swap_if_equal(expected_low, expected_high, desired_low, desired_high);
#ifdef MORTISE_TSAN
    __tsan_acquire(this);
#endif
    return swapped;
  }

 private:
#if defined(__x86_64__)
  bool swap_if_equal(std::uint64_t expected_low, std::uint64_t expected_high, std::uint64_t desired_low,
                     std::uint64_t desired_high) noexcept {
    bool swapped = false;
    asm volatile("lock cmpxchg16b %[pair]"
                 : "=@ccz"(swapped), [pair] "+m"(*this), "+a"(expected_low), "+d"(expected_high)
                 : "b"(desired_low), "c"(desired_high)
                 : "memory");
    return swapped;
  }
#elif defined(__aarch64__)
  bool swap_if_equal(std::uint64_t expected_low, std::uint64_t expected_high, std::uint64_t desired_low,
                     std::uint64_t desired_high) noexcept {
    for (;;) {
      std::uint64_t seen_low;
      std::uint64_t seen_high;
      std::uint32_t failed;
      asm volatile("ldaxp %[low], %[high], %[pair]"
                   : [low] "=&r"(seen_low), [high] "=&r"(seen_high)
                   : [pair] "Q"(*this)
                   : "memory");
      const bool equal = seen_low == expected_low && seen_high == expected_high;
      // A pair that differs is stored back as it was: only a store that succeeds proves that both halves were
      // read at one moment.
      asm volatile("stlxp %w[failed], %[low], %[high], %[pair]"
                   : [failed] "=&r"(failed), [pair] "=Q"(*this)
                   : [low] "r"(equal ? desired_low : seen_low), [high] "r"(equal ? desired_high : seen_high)
                   : "memory");
      if (failed == 0) {
        std::atomic_thread_fence(std::memory_order_seq_cst);
        return equal;
      }
    }
  }
#else
#error "mortise needs a 16-byte compare-and-swap: x86-64 or AArch64"
#endif
};

static_assert(sizeof(AtomicPair) == 16);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace mortise::sys
