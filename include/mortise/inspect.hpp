// Who holds what, and whether the store is whole: a read-only view of a store. Of shared memory it maps the
// segment without write access and takes no lock, so that looking can neither disturb the lockers nor be held
// up by one that is stopped or dead.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mortise/errors.hpp"
#include "mortise/open_store.hpp"
#include "mortise/types.hpp"

namespace mortise {

// The process that a lease is bound to. The pid and the command are what it said of itself when it attached:
// they are for display. Whether it is alive is the kernel's word.
struct HolderInfo {
  pid_t pid;
  std::uint64_t pid_namespace;  // the inode of the namespace that the pid is of, as in /proc/PID/ns/pid
  std::string command;
  bool alive;
};

// What was counted, for display: since the store was made; of a key for as long as the table remembers it,
// which ends when its place is needed for another. A process that is killed just then leaves something
// uncounted, as does a thread that was refused many times within 10 ms and then never again.
struct Counters {
  std::uint64_t grants = 0;
  std::uint64_t busy = 0;               // acquires that ended because somebody else held the key
  std::uint64_t waits = 0;              // acquires that did not get it at once and waited, however they ended
  std::chrono::microseconds waited{0};  // all waits together
  std::uint64_t expired = 0;            // leases that were found expired by who took their place
  std::uint64_t orphaned = 0;           // leases that were ended because their process was dead
};

// A lease that has not expired. A store on a server does not know its holders' processes, and says nullopt to
// whatever else it does not know: a program in another language that follows its layout writes no more than
// the key, the owner and the expiry.
struct LeaseInfo {
  LockKey key;
  std::optional<HolderInfo> holder;  // nullopt: the lease is bound to no process. Where the store knows
                                     // processes it was handed over (serialized or detached)
  std::optional<std::chrono::milliseconds> age;  // since the grant
  std::chrono::milliseconds remaining;
  std::optional<std::uint64_t> fencing_token;
  std::optional<unsigned> sleepers;                 // waiters that sleep for this key at this moment
  std::optional<Counters> counters = std::nullopt;  // of the key
};

// A process that uses a store.
struct AttachedProcess {
  HolderInfo process;
  std::size_t leases;  // that it holds
};

// How full a store is. nullopt: it does not know.
struct StoreStats {
  std::size_t leases = 0;                  // that have not expired
  std::optional<std::size_t> sleepers;     // waiters that sleep at this moment
  std::optional<std::size_t> slots;        // keys that there is room for
  std::optional<std::size_t> known_keys;   // that have a slot, held or not: these are acquired fastest
  std::optional<unsigned> fullest_stripe;  // the highest share of held slots, in percent, among the parts of
                                           // the table that a key may have to live in: at 100 it is full
  std::optional<std::size_t> process_slots;  // processes that there is room for
  std::optional<std::size_t> processes;      // that are attached
  std::optional<Counters> counters;

  struct Waits {
    std::optional<std::chrono::milliseconds> bound;  // nullopt: none
    std::uint64_t count;                             // longer than the bound before, and up to this one
  };
  std::vector<Waits> waits_by_length;  // a histogram of the waits that were counted; empty: it does not know
};

// What a check found.
struct Finding {
  enum class Severity {
    note,  // as a process that died or was stopped leaves it: the others go on, and the next of them repairs
           // it
    damage,  // nothing that using the store leads to: repair_store() mends it
  } severity;
  std::string sentence;  // where, what, and what it means; one line of printable ASCII, without a full stop
};

class StoreView {
 public:
  StoreView() = default;
  StoreView(const StoreView&) = delete;
  StoreView& operator=(const StoreView&) = delete;
  virtual ~StoreView() = default;

  // Every unexpired lease, ordered by key. Each is consistent in itself; together they are not one moment.
  [[nodiscard]] virtual std::vector<LeaseInfo> leases() const = 0;
  // The lease of one key; nullopt when it is free.
  [[nodiscard]] virtual std::optional<LeaseInfo> lease(const LockKey& key) const = 0;

  // Does the store bind leases to processes? If not, no lease of it has a holder.
  [[nodiscard]] virtual bool knows_processes() const { return false; }

  // Every process that is attached, and every dead one that a lease is still bound to, ordered by pid. Throws
  // StoreError(unsupported) unless overridden.
  [[nodiscard]] virtual std::vector<AttachedProcess> processes() const;

  // What was counted of a key, held or not; nullopt: the store does not count, or knows nothing of the key.
  [[nodiscard]] virtual std::optional<Counters> counters(const LockKey& /*key*/) const {
    return std::nullopt;
  }

  // Unless overridden it counts the leases, and knows no more.
  [[nodiscard]] virtual StoreStats stats() const;

  // Everything that is wrong with the store; nothing: it is sound. It may be in use meanwhile: what its users
  // change just then is looked at again, and never reported. Throws StoreError(unsupported) unless
  // overridden.
  [[nodiscard]] virtual std::vector<Finding> check() const;
};

// Opens a view of the store that a URL names (see open_store); it never makes one. Throws
// std::invalid_argument for a URL that open_store would refuse, StoreError when there is nothing to view or
// it cannot be opened.
std::unique_ptr<StoreView> open_view(std::string_view url);

// Ends the lease of a key, whoever holds it, and returns what it was; nullopt: nobody held it. A waiter is
// woken as by a release, and no fencing number falls. The holder finds out when it next asks: ensure_held()
// and extend() throw a LockNotHeldError whose sentence names this possibility, release() is false,
// is_expired() true. In shared memory the sentence says by which process of which user, and when, and its
// lost token is stopped within a tenth of a second; elsewhere within a third of its ttl. Throws like
// open_view(); StoreError(unsupported) where the store cannot do that.
std::optional<LeaseInfo> force_release(std::string_view url, const LockKey& key);

struct RepairReport {
  std::vector<std::string> repairs;  // what was found and mended, each a sentence as in a Finding
  std::vector<Finding> left;         // what could not be
};

// Mends the store that a URL names, while nobody uses it: keys and leases that cannot be right are wiped, and
// those of dead processes end. Sound leases that were handed over stay, and no fencing number falls. While it
// works, a process that wants to attach is refused with too_many_processes. It may be cut short and begun
// again.
//
// Throws like open_view(); StoreError(in_use), naming their pids, when processes are attached, this one
// perhaps; StoreError(unsupported) for a store that is not in shared memory. A header that is damaged cannot
// be repaired.
RepairReport repair_store(std::string_view url);

}  // namespace mortise
