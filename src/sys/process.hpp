// Which process is this, and is it still the one that it was?
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "sys/file.hpp"

namespace mortise::sys {

namespace detail {
// Points to a word in a page that the kernel empties in every child with memory of its own: fork, or raw
// clone(). Before that page is there, to one that is empty.
inline constinit std::atomic<std::uint64_t> no_incarnation = 0;
inline constinit std::atomic<const std::atomic<std::uint64_t>*> incarnation_word = &no_incarnation;
std::uint64_t begin_incarnation();
}  // namespace detail

// A random number that names this process and never 0. It costs two loads, needs no system call, and differs
// in a forked child at its first instruction, whichever way it was made. Throws std::bad_alloc at its first
// call at most.
inline std::uint64_t incarnation() {
  const auto* word = detail::incarnation_word.load(std::memory_order_acquire);
  const std::uint64_t current = word->load(std::memory_order_relaxed);
  return current != 0 ? current : detail::begin_incarnation();
}

// The first bytes of the name that the kernel shows for this process.
using CommandName = std::array<char, 16>;
CommandName command_name() noexcept;

// Is that process stopped, by a signal or a debugger? For hints only: pids are reused. False when it cannot
// be told.
bool is_stopped(pid_t pid);

// A descriptor that becomes readable when the process is gone, with all of its threads. None: there is no
// such process, or the kernel has no such descriptors.
FileDescriptor open_process(pid_t pid);

// Is there a thread of that id, in any process of this pid namespace? In doubt, yes.
bool thread_exists(pid_t thread);

// An identity that the kernel shows as a file, such as /proc/thread-self/ns/pid: {0, 0} when it cannot be
// seen.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};
FileIdentity identity_of(const char* path) noexcept;

// What the kernel calls the namespaces of this process; {0, 0} when /proc is missing, or the kernel has none.
inline FileIdentity pid_namespace() noexcept {
  return identity_of("/proc/thread-self/ns/pid");
}
inline FileIdentity time_namespace() noexcept {
  return identity_of("/proc/thread-self/ns/time");
}

// 36 characters that change at every boot; empty when /proc is missing.
std::string boot_id();

}  // namespace mortise::sys
