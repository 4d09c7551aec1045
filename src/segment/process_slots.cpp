#include "segment/process_slots.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <vector>

#include "sys/entropy.hpp"
#include "sys/fork.hpp"

namespace mortise::segment {

namespace {

constexpr std::uint64_t kNeverUsed = 0;
constexpr bool is_attached(std::uint64_t state) {
  return (state & 1U) != 0;
}

std::mutex& attachments_mutex() {
  return sys::process_mutex(sys::ProcessWide::attachments);
}

}  // namespace

// Every attachment of this process. Never destroyed: a thread may outlive static destruction.
std::vector<ProcessSlots*>& ProcessSlots::all() {
  static auto* const instance = new std::vector<ProcessSlots*>;
  return *instance;
}

// A child inherits the open file description that keeps its parent's slot alive. It closes its copy at once,
// and never unlocks it: the lock is the parent's.
void ProcessSlots::close_inherited() {
  for (ProcessSlots* slots : all()) slots->life_.reset();
}

ProcessSlots::ProcessSlots(ProcessRecord* records, std::uint32_t count, int file)
    : records_(records), count_(count), file_(file) {
  const std::lock_guard guard(attachments_mutex());
  all().push_back(this);
  sys::run_in_forked_child(close_inherited);
}

ProcessSlots::~ProcessSlots() {
  const std::lock_guard guard(attachments_mutex());
  std::erase(all(), this);
}

std::optional<ProcessSlot> ProcessSlots::attach(const Forget& forget) {
  const std::lock_guard guard(attachments_mutex());
  if (const auto slot = own()) return slot;

  sys::FileDescriptor life = sys::reopen(file_, O_RDWR);
  if (!life) return std::nullopt;
  const auto start = static_cast<std::uint32_t>(sys::kernel_random() % count_);
  // Slots that nobody had before come first: nothing can be bound to them.
  for (const bool used : {false, true}) {
    for (std::uint32_t i = 0; i < count_; ++i) {
      const auto slot = static_cast<ProcessSlot>((start + i) % count_);
      if ((records_[slot].state.load(std::memory_order_acquire) != kNeverUsed) != used) continue;
      if (!claim(slot, life.get(), forget)) continue;
      life_ = std::move(life);
      own_ = slot;
      attached_in_.store(sys::incarnation(), std::memory_order_release);
      return slot;
    }
  }
  errno = EUSERS;
  return std::nullopt;
}

// Why the dead are never taken for alive meanwhile: alive is "the record says attached, and the byte is
// locked". The record says dead before we lock the byte, and says attached again only when nothing is bound
// to the old process.
bool ProcessSlots::claim(ProcessSlot slot, int descriptor, const Forget& forget) {
  ProcessRecord& record = records_[slot];
  if (!mark_dead(record, slot)) return false;
  if (!sys::try_lock_byte(descriptor, lock_byte(slot))) return false;
  const std::uint64_t state = record.state.load(std::memory_order_acquire);
  if (is_attached(state)) {
    // Another process came and went in between: give the byte back, the next claim marks the record first.
    sys::unlock_byte(descriptor, lock_byte(slot));
    return false;
  }
  if (state != kNeverUsed) forget(slot);
  publish(record);
  return true;
}

// False while the process lives.
bool ProcessSlots::mark_dead(ProcessRecord& record, ProcessSlot slot) const {
  std::uint64_t state = record.state.load(std::memory_order_acquire);
  if (!is_attached(state)) return true;
  if (sys::is_byte_locked(file_, lock_byte(slot)).value_or(true)) return false;
  // Only this very process is marked: if another has attached meanwhile, its id differs and the swap fails.
  return record.state.compare_exchange_strong(state, state - 1);
}

void ProcessSlots::publish(ProcessRecord& record) const {
  record.pid.store(static_cast<std::uint64_t>(getpid()), std::memory_order_relaxed);
  record.pid_namespace.store(sys::pid_namespace().inode, std::memory_order_relaxed);
  const auto words = std::bit_cast<std::array<std::uint64_t, 2>>(sys::command_name());
  for (std::size_t i = 0; i < words.size(); ++i) record.command[i].store(words[i], std::memory_order_relaxed);
  record.state.store(sys::kernel_random() | 1U, std::memory_order_release);
}

int ProcessSlots::duplicate_lifeline() const noexcept {
  return own() ? fcntl(life_.get(), F_DUPFD_CLOEXEC, 0) : -1;
}

bool ProcessSlots::is_another_alive(ProcessSlot slot) const {
  if (slot >= count_ || !is_attached(records_[slot].state.load(std::memory_order_acquire))) return false;
  return sys::is_byte_locked(file_, lock_byte(slot)).value_or(true);
}

bool ProcessSlots::was_alive_recently(ProcessSlot slot, sys::TimePoint now) const {
  constexpr unsigned kSlotBits = 16;
  const std::uint64_t named = slot + 1ULL;
  const auto micros =
      static_cast<std::uint64_t>(std::chrono::floor<sys::Micros>(now.time_since_epoch()).count());
  const std::uint64_t found = found_alive_.load(std::memory_order_relaxed);
  const std::uint64_t age = (micros << kSlotBits | named) - found;
  if (age >> kSlotBits < static_cast<std::uint64_t>(kRecent.count()) && age % (1U << kSlotBits) == 0)
    return true;
  if (!is_alive(slot)) return false;
  found_alive_.store(micros << kSlotBits | named, std::memory_order_relaxed);
  return true;
}

bool ProcessSlots::was_used(ProcessSlot slot) const {
  return slot < count_ && records_[slot].state.load(std::memory_order_acquire) != kNeverUsed;
}

bool ProcessSlots::is_taken(ProcessSlot slot) const {
  return slot < count_ && sys::is_byte_locked(file_, lock_byte(slot)).value_or(false);
}

ProcessInfo ProcessSlots::info(ProcessSlot slot) const {
  if (slot >= count_) return {0, 0, "?", false};
  const ProcessRecord& record = records_[slot];
  std::array<std::uint64_t, 2> words{};
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = record.command[i].load(std::memory_order_relaxed);
  const auto name = std::bit_cast<sys::CommandName>(words);
  return {static_cast<pid_t>(record.pid.load(std::memory_order_relaxed)),
          record.pid_namespace.load(std::memory_order_relaxed),
          std::string(name.data(), strnlen(name.data(), name.size())), is_alive(slot)};
}

}  // namespace mortise::segment
