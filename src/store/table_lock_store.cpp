#include "mortise/table_lock_store.hpp"

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "mortise/memory_lock_store.hpp"
#include "mortise/shm_lock_store.hpp"
#include "store/segment_options.hpp"
#include "table/lock_table.hpp"
#include "table/waiter.hpp"

namespace mortise {

namespace {

using table::LockTable;

[[noreturn]] void refuse_to_attach(const std::string& name, int error) {
  if (error == EUSERS) {
    throw StoreError(StoreErrc::too_many_processes,
                     name + ": every process slot has a live process; make a segment with more processes");
  }
  // A child that gave up privileges, or a process at its limit of open files.
  const StoreErrc code = error == EACCES ? StoreErrc::permission_denied : StoreErrc::cannot_open;
  throw StoreError(code, name + ": this process cannot attach: " + std::generic_category().message(error) +
                             "; give it access to the file, or a descriptor more");
}

// It has no name in the moment before it writes it down.
std::string shaper_of(const LockTable& table, const LockTable::Attempt& attempt) {
  if (attempt.shaper == table::Lease::kUnbound) return "a process";
  const segment::ProcessInfo shaper = table.process(attempt.shaper);
  return "process " + std::to_string(shaper.pid) + " (" + shaper.command + ")";
}

// Emplaced, so that compilers write the flag and its padding at once: a byte that is written and read again
// as a part of a register, as they return a Grant{fence}, must have reached the cache before.
inline std::optional<Grant> granted(std::uint64_t fence) {
  std::optional<Grant> grant;
  grant.emplace(Grant{fence});
  return grant;
}

// The one place where the outcome of a table becomes an answer or an exception.
std::optional<Grant> to_grant(const LockTable& table, const LockTable::Attempt& attempt) {
  const std::string& name = table.name();
  switch (attempt.outcome) {
    case LockTable::Outcome::granted:
      return granted(attempt.fence);
    case LockTable::Outcome::busy:
    case LockTable::Outcome::spoken_for:
      return std::nullopt;
    case LockTable::Outcome::full:
      throw StoreError(
          StoreErrc::table_full,
          name + ": every slot where this key may live holds a live lease; make a segment with more slots");
    case LockTable::Outcome::stalled:
      throw StoreError(StoreErrc::stalled, name + ": " + shaper_of(table, attempt) +
                                               " was stopped while it added a key; continue or kill it");
    case LockTable::Outcome::unusable:
      throw StoreError(
          StoreErrc::corrupt,
          name +
              ": a mutex or a slot is damaged; stop its users and repair it: inspect-locks check --repair");
    case LockTable::Outcome::replaced:
      throw StoreError(StoreErrc::replaced,
                       name +
                           ": the file was removed or replaced while this process used it, so that others "
                           "may be using a new one; open the store again, or start this process anew");
    case LockTable::Outcome::not_attached:
      refuse_to_attach(name, attempt.error);
    case LockTable::Outcome::overtaken:
      break;
  }
  throw StoreError(StoreErrc::corrupt, name + ": unknown outcome");
}

std::shared_ptr<LockTable> table_of(std::shared_ptr<segment::Segment> segment) {
  if (!LockTable::fits(*segment)) {
    throw StoreError(StoreErrc::corrupt,
                     segment->name() + " contradicts itself; stop its users and remove it");
  }
  return std::make_shared<LockTable>(std::move(segment));
}

std::shared_ptr<LockTable> open_table(const std::string& path, const SegmentOptions& options) {
  store::check(options);
  return table_of(
      segment::Segment::open(path, store::plan_of(options), {options.mode, options.only_own_file}));
}

std::shared_ptr<LockTable> anonymous_table(const SegmentOptions& options) {
  store::check(options);
  return table_of(segment::Segment::anonymous(store::plan_of(options)));
}

}  // namespace

TableLockStore::TableLockStore(std::shared_ptr<table::LockTable> table) : table_(std::move(table)) {}
TableLockStore::~TableLockStore() = default;

ShmLockStore::ShmLockStore(const std::string& path, const SegmentOptions& options)
    : TableLockStore(open_table(path, options)) {}

MemoryLockStore::MemoryLockStore(const SegmentOptions& options) : TableLockStore(anonymous_table(options)) {}

std::optional<Grant> TableLockStore::acquire(const LockKey& key, OwnerToken owner, Ttl ttl) {
  table::StripeRef::Found found;
  if (const std::uint64_t fence = table_->take_free(key, owner, ttl, found)) return granted(fence);
  constexpr std::chrono::nanoseconds kNoWait{0};
  const LockTable::Attempt attempt =
      table_->acquire_from(found, key, owner, ttl, kNoWait, LockTable::Turn::now);
  table_->count_refusal(attempt);
  return to_grant(*table_, attempt);
}

std::optional<Grant> TableLockStore::acquire_within(const LockKey& key, OwnerToken owner, Ttl ttl,
                                                    const WaitOptions& options) {
  table::StripeRef::Found found;
  if (const std::uint64_t fence = table_->take_free(key, owner, ttl, found)) return granted(fence);
  return to_grant(*table_, table::acquire_within(*table_, key, owner, ttl, options));
}

bool TableLockStore::release(const LockKey& key, OwnerToken owner) {
  return table_->release(key, owner);
}

bool TableLockStore::extend(const LockKey& key, OwnerToken owner, Ttl ttl) {
  return table_->extend(key, owner, ttl);
}

bool TableLockStore::outlive_process(const LockKey& key, OwnerToken owner) {
  return table_->unbind(key, owner);
}

std::string TableLockStore::end_of(const LockKey& /*key*/, OwnerToken owner) {
  const auto end = table_->forced_ends().find(owner);
  return end ? table::describe(*end) : std::string();
}

std::optional<std::uint64_t> TableLockStore::forced_ends() noexcept {
  return table_->forced_ends().done();
}

int TableLockStore::duplicate_lifeline() const {
  return table_->duplicate_lifeline();
}

bool TableLockStore::is_held_by(const LockKey& key, OwnerToken owner) {
  return table_->is_held_by(key, owner);
}

bool TableLockStore::is_locked(const LockKey& key) {
  return table_->holder(key).has_value();
}

std::optional<std::chrono::milliseconds> TableLockStore::remaining_time(const LockKey& key) {
  const auto lease = table_->holder(key);
  if (!lease) return std::nullopt;
  const auto left = lease->expiry() - sys::Clock::now();
  return std::max(std::chrono::milliseconds(0), std::chrono::floor<std::chrono::milliseconds>(left));
}

}  // namespace mortise
