#include "sys/clock.hpp"

#if defined(__x86_64__) && __has_include(<sys/rseq.h>)
#include <cpuid.h>
#include <sys/rseq.h>
#include <x86intrin.h>

#include <cstdint>
#define MORTISE_HAS_TICKS 1
#endif

namespace mortise::sys {

#ifdef MORTISE_HAS_TICKS

namespace {

// At half a gigahertz, so many ticks are no more than kSoon; most processors have four times as many in it.
constexpr std::uint64_t kFewTicks = 30'000;
static_assert(kSoon >= std::chrono::microseconds(60));

// Does the time stamp counter of a processor never stop and never change its pace? It says so itself.
bool ticks_are_steady() noexcept {
  constexpr unsigned kPowerManagement = 0x80000007;
  constexpr unsigned kInvariant = 1U << 8U;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(kPowerManagement, &a, &b, &c, &d) != 0 && (d & kInvariant) != 0;
}

// The processor that this thread runs on, as the kernel keeps it in the thread's memory; negative where it
// does not. It may be another one at the next instruction.
std::int32_t processor() noexcept {
  const char* thread = nullptr;
  asm("mov %%fs:0, %0" : "=r"(thread));
  const auto* area = reinterpret_cast<const struct rseq*>(thread + __rseq_offset);
  return static_cast<std::int32_t>(__atomic_load_n(&area->cpu_id, __ATOMIC_RELAXED));
}

// An exact look at the clock, and the ticks of the processor it was made on, read before it.
struct Anchor {
  std::int32_t processor = -1;
  std::uint64_t ticks = 0;
  TimePoint time;
};
thread_local constinit Anchor anchor;

// Out of line, so that the frequent way through about_now() saves no registers.
[[gnu::noinline]] Moment look(std::int32_t here, std::uint64_t ticks) noexcept {
  static const bool steady = ticks_are_steady();
  const TimePoint now = Clock::now();
  if (steady && here >= 0 && here == processor()) anchor = {here, ticks, now};
  return {now, now};
}

}  // namespace

// The counters of two processors may differ, so they are never compared: the processor is read before and
// after its counter, and was this one all the while unless the thread went there and back within a few ticks.
Moment about_now() noexcept {
  const std::int32_t here = processor();
  const std::uint64_t ticks = __rdtsc();
  if (here == anchor.processor && here == processor() && ticks - anchor.ticks < kFewTicks)
    return {anchor.time, anchor.time + kSoon};
  return look(here, ticks);
}

#else

Moment about_now() noexcept {
  const TimePoint now = Clock::now();
  return {now, now};
}

#endif

}  // namespace mortise::sys
