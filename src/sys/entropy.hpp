// Randomness for owner tokens, ids and seeds.
#pragma once

#include <cstdint>

namespace mortise::sys {

// From the kernel. Waits for its pool at early boot; otherwise it cannot fail.
std::uint64_t kernel_random() noexcept;

// From a generator of this thread that the kernel seeded, and seeds again in a forked child: two processes
// never share a sequence. Fast, and as unpredictable as the segment is private: whoever can read tokens there
// can also write it.
std::uint64_t thread_random();

}  // namespace mortise::sys
