// The last leases that were ended by force, so that their holders can be told by whom. A ring: the oldest
// entry gives way. It says nothing to the protocol.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "mortise/types.hpp"

namespace mortise::table {

struct ForcedEnd {
  pid_t pid;
  uid_t uid;
  std::int64_t seconds;  // of the wall clock, since the epoch
};

// As part of a sentence.
std::string describe(const ForcedEnd& end);

class ForcedEnds {
 public:
  // Before the lease is ended: whoever finds it over finds the note. One that was written in vain must be
  // taken back.
  struct Note {
    std::size_t place;
  };
  Note write(OwnerToken owner, const ForcedEnd& end) noexcept {
    // Whoever sees what is new of an entry sees that it is not the former owner's any more.
    const auto release = std::memory_order_release;
    const std::size_t place = next_.fetch_add(1, std::memory_order_relaxed) % entries_.size();
    Entry& entry = entries_[place];
    entry.owner.store(0, std::memory_order_relaxed);
    entry.who.store(std::uint64_t{end.uid} << 32U | static_cast<std::uint32_t>(end.pid), release);
    entry.seconds.store(end.seconds, release);
    entry.owner.store(owner.as_number(), release);
    return {place};
  }
  void take_back(Note note) noexcept { entries_[note.place].owner.store(0, std::memory_order_relaxed); }
  void count() noexcept { done_.fetch_add(1, std::memory_order_release); }

  // How many there were.
  [[nodiscard]] std::uint64_t done() const noexcept { return done_.load(std::memory_order_acquire); }

  // An entry that is written anew meanwhile is of somebody else.
  [[nodiscard]] std::optional<ForcedEnd> find(OwnerToken owner) const noexcept {
    for (const Entry& entry : entries_) {
      if (entry.owner.load(std::memory_order_acquire) != owner.as_number()) continue;
      const std::uint64_t who = entry.who.load(std::memory_order_acquire);
      const std::int64_t seconds = entry.seconds.load(std::memory_order_acquire);
      if (entry.owner.load(std::memory_order_relaxed) != owner.as_number()) continue;
      return ForcedEnd{static_cast<pid_t>(who & 0xffffffffU), static_cast<uid_t>(who >> 32U), seconds};
    }
    return std::nullopt;
  }

 private:
  struct Entry {
    std::atomic<std::uint64_t> owner;  // the token of the lease that was ended; 0: none
    std::atomic<std::uint64_t> who;    // the user, and below it the process
    std::atomic<std::int64_t> seconds;
  };
  std::atomic<std::uint64_t> done_;
  std::atomic<std::uint64_t> next_;
  std::array<Entry, 64> entries_;
};
static_assert(sizeof(ForcedEnds) == 16 + 64 * 24);

}  // namespace mortise::table
