#include "segment/file_guard.hpp"

#include <cerrno>

#include "sys/file.hpp"
#include "sys/process.hpp"

namespace mortise::segment {

std::atomic<std::uint64_t>& FileGuard::word_of(off_t byte) noexcept {
  return words_[static_cast<std::size_t>(byte) % words_.size()];
}

FileGuard::Outcome FileGuard::try_lock(int file, off_t byte) noexcept {
  std::atomic<std::uint64_t>& word = word_of(byte);
  const std::uint64_t self = sys::incarnation();
  std::uint64_t owner = word.load(std::memory_order_relaxed);
  if (owner == self || !word.compare_exchange_strong(owner, self, std::memory_order_acquire))
    return Outcome::busy;
  if (sys::try_lock_byte(file, byte)) return Outcome::locked;
  const bool busy = errno == EAGAIN || errno == EACCES || errno == EINTR;
  word.store(0, std::memory_order_release);
  return busy ? Outcome::busy : Outcome::unusable;
}

// The byte first: whoever has the word may lock the byte, which the file description holds already.
void FileGuard::unlock(int file, off_t byte) noexcept {
  sys::unlock_byte(file, byte);
  word_of(byte).store(0, std::memory_order_release);
}

}  // namespace mortise::segment
