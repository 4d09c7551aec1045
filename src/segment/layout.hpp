// The bytes of a segment, as every process that maps it sees them.
//
//   0        Header           written before the file gets its name, never changed after
//   4088     successor        0 until a later boot takes the segment over: see creation.hpp
//   4096     ProcessRecord[]  one for each process that may be attached, 64 bytes each
//   body     the table        at the next multiple of 4096
//
// The lock byte of process slot i is the first byte of its record, as an offset in the file.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <type_traits>

#include "sys/process.hpp"
#include "sys/robust_mutex.hpp"

namespace mortise::segment {

inline constexpr std::array<char, 8> kMagic = {'m', 'o', 'r', 't', 'i', 's', 'e', '\n'};
inline constexpr std::uint32_t kVersion = 5;
inline constexpr std::uint64_t kPage = 4096;

// What excludes others from changing a part of the body.
enum class Guard : std::uint64_t {
  robust_mutex,  // in the body; for the processes of one pid namespace and one C library
  file_lock,     // on a byte of the file; for all processes of the host
};

struct Header {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t header_bytes;
  std::uint64_t fingerprint;  // of the structures in the body, of the hash and of the byte order
  std::uint64_t total_bytes;
  std::uint32_t processes;
  std::uint32_t slots;  // what the geometry of the table follows from
  Guard guard;
  std::uint64_t segment_id;
  std::uint64_t hash_seed;
  std::uint64_t fence_base;  // every fencing number is above it
  sys::FileIdentity
      pid_namespace;  // of who made it: robust mutexes hold thread ids, which mean something in one only
  sys::FileIdentity time_namespace;     // CLOCK_MONOTONIC is shifted between them
  std::array<char, 40> boot_id;         // expiries are times since this boot
  sys::RobustMutex::Image mutex_image;  // of a fresh one; zeros when the guard is another
  std::uint64_t checksum;               // of everything before it
};
static_assert(std::is_trivially_copyable_v<Header> && std::has_unique_object_representations_v<Header>);
inline constexpr std::uint64_t kSuccessorOffset = kPage - sizeof(std::uint64_t);
static_assert(sizeof(Header) <= kSuccessorOffset);

// Written by the process that holds the lock byte; read by everybody at any time.
struct alignas(64) ProcessRecord {
  // 0: never used. Odd: the random id of the process that is, or was, attached. Even: the id (less one) of a
  // process whose death was noticed. Written last when a process attaches; turned even before the lock byte
  // changes hands.
  std::atomic<std::uint64_t> state;
  // For display.
  std::atomic<std::uint64_t> pid;
  std::atomic<std::uint64_t> pid_namespace;           // its inode: the pid is of that namespace
  std::array<std::atomic<std::uint64_t>, 2> command;  // sys::CommandName
};
static_assert(sizeof(ProcessRecord) == 64);

constexpr std::uint64_t to_page(std::uint64_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}
constexpr std::uint64_t records_offset() {
  return to_page(sizeof(Header));
}
constexpr std::uint64_t body_offset(std::uint32_t processes) {
  return records_offset() + to_page(processes * sizeof(ProcessRecord));
}
constexpr off_t lock_byte(std::uint32_t process_slot) {
  return static_cast<off_t>(records_offset() + process_slot * sizeof(ProcessRecord));
}

}  // namespace mortise::segment
