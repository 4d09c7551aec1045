// Which processes are attached to a segment, and which of them are dead.
//
// A process slot belongs to the process that holds an open-file-description lock on its lock byte. The kernel
// drops the lock when the last thread of the process is gone, and only then: a zombie is dead, a stopped
// process is not, and pids play no part.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "segment/layout.hpp"
#include "sys/clock.hpp"
#include "sys/file.hpp"

namespace mortise::segment {

using ProcessSlot = std::uint16_t;

struct ProcessInfo {
  pid_t pid;
  std::uint64_t pid_namespace;  // the inode of the namespace that the pid is of
  std::string command;
  bool alive;

  // 0: it is of another namespace, where the pid is another process, or none.
  [[nodiscard]] pid_t pid_in_this_namespace() const {
    return pid_namespace == sys::pid_namespace().inode ? pid : 0;
  }
};

class ProcessSlots {
 public:
  // `file` is a descriptor of the segment that holds no lock; it and the records outlive this object.
  ProcessSlots(ProcessRecord* records, std::uint32_t count, int file);
  ProcessSlots(const ProcessSlots&) = delete;
  ProcessSlots& operator=(const ProcessSlots&) = delete;
  ~ProcessSlots();

  // The slot of this process; nullopt before attach(), and in a forked child.
  [[nodiscard]] std::optional<ProcessSlot> own() const {
    if (attached_in_.load(std::memory_order_acquire) != sys::incarnation()) return std::nullopt;
    return own_;
  }

  // own(), after claiming a slot if need be: `forget(slot)` must end whatever is still bound to the dead
  // process that had it before. nullopt: errno says why; EUSERS: every slot has a live process.
  using Forget = std::function<void(ProcessSlot)>;
  std::optional<ProcessSlot> attach(const Forget& forget);

  // Is the process of this slot alive? In doubt, yes: a lease still ends by its expiry.
  [[nodiscard]] bool is_alive(ProcessSlot slot) const { return own() == slot || is_another_alive(slot); }

  // The same for who asks again and again: an answer of up to kRecent before `now` will do, which is less
  // than a process takes to die. Two loads instead of a system call.
  static constexpr std::chrono::microseconds kRecent{20};
  [[nodiscard]] bool was_alive_recently(ProcessSlot slot, sys::TimePoint now) const;

  // Has a process ever had this slot?
  [[nodiscard]] bool was_used(ProcessSlot slot) const;
  // Does a process hold the slot's lock byte, whatever the record says of it? In doubt, no.
  [[nodiscard]] bool is_taken(ProcessSlot slot) const;

  // A number that changes whenever another process gets the slot, or its death is noticed.
  [[nodiscard]] std::uint64_t occupant(ProcessSlot slot) const {
    return slot < count_ ? records_[slot].state.load(std::memory_order_acquire) : 0;
  }

  // For display.
  [[nodiscard]] ProcessInfo info(ProcessSlot slot) const;

  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }

  // Of an attached process: the open file description whose locks end with this process.
  [[nodiscard]] int descriptor() const noexcept { return life_.get(); }
  // A copy of it, which is not closed in a forked child: the locks end with the last copy. -1: not attached,
  // or no descriptor is left.
  [[nodiscard]] int duplicate_lifeline() const noexcept;

 private:
  static std::vector<ProcessSlots*>& all();
  static void close_inherited();
  [[nodiscard]] bool is_another_alive(ProcessSlot slot) const;
  bool claim(ProcessSlot slot, int descriptor, const Forget& forget);
  bool mark_dead(ProcessRecord& record, ProcessSlot slot) const;
  void publish(ProcessRecord& record) const;

  ProcessRecord* records_;
  std::uint32_t count_;
  int file_;
  sys::FileDescriptor life_;  // holds the lock byte; its forked copy is closed in the child
  ProcessSlot own_ = 0;
  std::atomic<std::uint64_t> attached_in_ = 0;  // the incarnation that own_ is valid in
  // The last process slot that was found alive, plus one, and above it when, in µs.
  mutable std::atomic<std::uint64_t> found_alive_ = 0;
};

}  // namespace mortise::segment
