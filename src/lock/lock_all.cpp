#include "mortise/lock_all.hpp"

#include <algorithm>
#include <exception>
#include <list>
#include <stdexcept>

#include "mortise/open_store.hpp"
#include "sys/clock.hpp"

namespace mortise {

namespace {

constexpr char kSeparator = ' ';

bool before(const LockKey& a, const LockKey& b) {
  return a.bytes() < b.bytes();
}

std::vector<Lock> make_locks(std::vector<LockKey> keys, Ttl ttl, const std::shared_ptr<LockStore>& store) {
  if (keys.empty()) throw std::invalid_argument("mortise: lock_all needs at least one key");
  std::sort(keys.begin(), keys.end(), before);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  std::vector<Lock> locks;
  locks.reserve(keys.size());
  for (LockKey& key : keys) locks.emplace_back(std::move(key), ttl, store);
  return locks;
}

}  // namespace

// Stops one token when any of several is stopped.
class LockGroup::Loss {
 public:
  explicit Loss(std::vector<Lock>& locks) {
    for (Lock& each : locks) callbacks_.emplace_back(each.lost_token(), Pass{any_});
  }
  [[nodiscard]] std::stop_token token() const { return any_.get_token(); }

 private:
  struct Pass {
    std::stop_source any;
    void operator()() const { std::stop_source(any).request_stop(); }
  };
  std::stop_source any_;
  std::list<std::stop_callback<Pass>> callbacks_;
};

LockGroup::LockGroup(std::vector<Lock> locks) : locks_(std::move(locks)) {}
LockGroup::LockGroup(std::vector<LockKey> keys, Ttl ttl, std::shared_ptr<LockStore> store)
    : LockGroup(make_locks(std::move(keys), ttl, store)) {}
LockGroup::LockGroup(LockGroup&&) noexcept = default;
LockGroup& LockGroup::operator=(LockGroup&&) noexcept = default;
LockGroup::~LockGroup() = default;

// Waits for one key without holding any, then tries the others; if one of them is busy, that is the next to
// be waited for.
bool LockGroup::acquire(const AcquireOptions& options) {
  if (locks_.empty()) throw std::logic_error("mortise: this group was moved from");
  const sys::TimePoint deadline = sys::deadline_after(options.timeout.nanoseconds());
  AcquireOptions turn = options;
  for (std::size_t first = 0;;) {
    if (!locks_[first].acquire(turn)) return false;
    const std::size_t busy = acquire_others(first, options);
    if (busy == locks_.size()) {
      loss_.reset();  // of leases that this group had before, and lost
      return true;
    }
    turn.timeout = deadline - sys::Clock::now();
    if (turn.timeout.is_zero() || options.stop.stop_requested()) return false;
    first = busy;
  }
}

// The index of one that is busy, and then none is held; or their number.
std::size_t LockGroup::acquire_others(std::size_t first, const AcquireOptions& options) {
  for (std::size_t i = 0; i < locks_.size(); ++i) {
    try {
      if (i == first || locks_[i].acquire({.keep_alive = options.keep_alive})) continue;
    } catch (...) {
      release_all_quietly();
      throw;
    }
    release_all_quietly();
    return i;
  }
  return locks_.size();
}

void LockGroup::release_all_quietly() noexcept {
  loss_.reset();
  for (Lock& each : locks_) detail::release_quietly(each);
}

bool LockGroup::release() {
  loss_.reset();
  bool all = !locks_.empty();
  std::exception_ptr failure;
  for (Lock& each : locks_) {
    try {
      all = each.release() && all;
    } catch (...) {
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  return all;
}

// The locks of a group that was not moved from.
std::vector<Lock>& LockGroup::require_locks() {
  if (locks_.empty()) throw LockNotHeldError("mortise: this group was moved from");
  return locks_;
}

void LockGroup::extend() {
  for (Lock& each : require_locks()) each.extend();
}

void LockGroup::extend(Ttl ttl) {
  for (Lock& each : require_locks()) each.extend(ttl);
}

void LockGroup::ensure_held() {
  for (Lock& each : require_locks()) each.ensure_held();
}

bool LockGroup::is_expired() const {
  return std::any_of(locks_.begin(), locks_.end(), [](const Lock& each) { return each.is_expired(); });
}

std::stop_token LockGroup::lost_token() {
  if (!loss_) loss_ = std::make_unique<Loss>(require_locks());
  return loss_->token();
}

std::string LockGroup::serialize() {
  loss_.reset();  // whoever gets the leases looks after them
  std::string text;
  for (Lock& each : require_locks()) {
    if (!text.empty()) text += kSeparator;
    text += each.serialize();
  }
  return text;
}

bool LockGroup::detach() {
  loss_.reset();
  bool all = !locks_.empty();
  for (Lock& each : locks_) all = each.detach() && all;
  return all;
}

LockGroup lock_all(std::vector<LockKey> keys, Ttl ttl) {
  return lock_all(std::move(keys), ttl, lock_store());
}

LockGroup lock_all(std::vector<LockKey> keys, Ttl ttl, std::shared_ptr<LockStore> store) {
  return {std::move(keys), ttl, std::move(store)};
}

LockGroup restore_lock_all(std::string_view text) {
  return restore_lock_all(text, lock_store());
}

LockGroup restore_lock_all(std::string_view text, std::shared_ptr<LockStore> store) {
  std::vector<Lock> locks;
  for (;;) {
    const std::size_t end = text.find(kSeparator);
    locks.push_back(restore_lock(text.substr(0, end), store));
    if (locks.size() > 1 && !before(locks[locks.size() - 2].key(), locks.back().key()))
      throw std::invalid_argument("mortise: this text was not made by LockGroup::serialize()");
    if (end == std::string_view::npos) return LockGroup(std::move(locks));
    text.remove_prefix(end + 1);
  }
}

}  // namespace mortise
