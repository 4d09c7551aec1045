// Mutual exclusion by open-file-description locks: for processes whose thread ids mean nothing to each other.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace mortise::segment {

// Excludes processes by a lock on a byte of the file, and the threads of one process by a word in its memory.
// When the process dies the kernel drops the lock, without a word to who takes it next: what it guards must
// show by itself that it is being changed.
//
// The word holds the incarnation of the process that locked it, so a forked child finds all of them unlocked.
class FileGuard {
 public:
  enum class Outcome { locked, busy, unusable };

  // `file` is this process's own open file description of the segment: see ProcessSlots::descriptor.
  Outcome try_lock(int file, off_t byte) noexcept;
  void unlock(int file, off_t byte) noexcept;

 private:
  // Different bytes may share a word: then they are busy for a moment without need.
  [[nodiscard]] std::atomic<std::uint64_t>& word_of(off_t byte) noexcept;

  std::array<std::atomic<std::uint64_t>, 61> words_{};
};

}  // namespace mortise::segment
