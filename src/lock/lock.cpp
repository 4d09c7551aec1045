#include "mortise/lock.hpp"

#include <chrono>
#include <stdexcept>
#include <system_error>
#include <tuple>

#include "lock/lease_watch.hpp"
#include "lock/serialize.hpp"
#include "mortise/open_store.hpp"
#include "sys/clock.hpp"
#include "sys/process.hpp"

namespace mortise {

namespace {

[[noreturn]] void throw_lost(const char* verb, const std::string& how) {
  throw LockNotHeldError(std::string("mortise: cannot ") + verb + ": the lease is lost, " +
                         (how.empty() ? "it expired or was ended by somebody else" : how));
}

}  // namespace

void detail::EndOfWatch::operator()(LeaseWatch* watch) const noexcept {
  delete watch;
}

Lock::Lock(LockKey key, Ttl ttl, std::shared_ptr<LockStore> store)
    : Lock(std::in_place, std::move(key), ttl, std::move(store)) {}

void Lock::refuse_without_store() {
  throw std::invalid_argument("mortise: a lock needs a store");
}

Lock::Lock(Lock&& other) noexcept
    : key_(std::move(other.key_)),
      ttl_(other.ttl_),
      store_(std::move(other.store_)),
      held_(std::exchange(other.held_, std::nullopt)),
      watch_(std::move(other.watch_)) {}

Lock& Lock::operator=(Lock&& other) noexcept {
  if (this == &other) return *this;
  release_on_destroy();
  key_ = std::move(other.key_);
  ttl_ = other.ttl_;
  store_ = std::move(other.store_);
  held_ = std::exchange(other.held_, std::nullopt);
  watch_ = std::move(other.watch_);
  return *this;
}

LockStore& Lock::store() const {
  if (!store_) throw std::logic_error("mortise: this lock was moved from");
  return *store_;
}

// What this handle holds as far as it knows: nothing in a forked child, where the lease stayed with the
// parent (C17).
const Lock::Held* Lock::held() const {
  return held_ && held_->process == sys::incarnation() ? &*held_ : nullptr;
}

const Lock::Held& Lock::require_held(const char* verb) const {
  const Held* known = held();
  if (known == nullptr) {
    throw LockNotHeldError(std::string("mortise: cannot ") + verb +
                           ": this handle has acquired no lease, or released it");
  }
  return *known;
}

bool Lock::acquire(const AcquireOptions& options) {
  LockStore& store = this->store();
  const OwnerToken owner = OwnerToken::generate();
  const auto grant =
      options.timeout.is_zero()
          ? store.acquire(key_, owner, ttl_)
          : store.acquire_within(key_, owner, ttl_, {options.timeout, options.retry_delay, options.stop});
  if (!grant) return false;
  watch_.reset();  // of a lease that this handle had before, and lost
  // Emplaced: an assignment would copy it in wider pieces than it was written in, and wait for the cache.
  held_.emplace(Held{owner, grant->fencing_token, sys::incarnation(), true});
  if (options.keep_alive) keep_alive();
  return true;
}

// A lease that cannot be kept alive is not kept. It is renewed at once: how long ago it was granted is not
// known after a wait, or a slow reply.
void Lock::keep_alive() {
  try {
    watch_.reset(
        new detail::LeaseWatch(known_lease(ttl_.milliseconds()), detail::LeaseWatch::Care::renew_now));
  } catch (...) {
    detail::release_quietly(*this);
    throw;
  }
}

detail::WatchedLease Lock::known_lease(std::chrono::milliseconds left) const {
  return {store_, key_, held_->owner, ttl_, sys::Clock::now() + left};
}

void Lock::lock() {
  if (held() != nullptr && !is_expired()) {
    throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur),
                            "mortise: this handle holds the key that it is to lock");
  }
  while (!acquire({.timeout = std::chrono::nanoseconds::max(), .keep_alive = true})) continue;
}

bool Lock::release() {
  watch_.reset();
  const Held* known = held();
  if (known == nullptr) return false;
  // Had the store failed, the token would be needed for another try.
  if (store().release(key_, known->owner)) {
    held_.reset();
    return true;
  }
  held_->releases_on_destroy = false;  // It is lost; the token stays, so that is_expired() can tell.
  return false;
}

void Lock::release_on_destroy() noexcept {
  if (held_ && held_->releases_on_destroy) detail::release_quietly(*this);
}

void Lock::extend(Ttl ttl) {
  const OwnerToken owner = require_held("extend").owner;
  if (!(watch_ ? watch_->extend(ttl) : store().extend(key_, owner, ttl)))
    throw_lost("extend", store().end_of(key_, owner));
}

void Lock::ensure_held() {
  const OwnerToken owner = require_held("go on").owner;
  if (!store().is_held_by(key_, owner)) throw_lost("go on", store().end_of(key_, owner));
}

std::stop_token Lock::lost_token() {
  std::ignore = require_held("watch");
  if (!watch_) {
    // The time that is left may be that of somebody else.
    constexpr std::chrono::milliseconds kNone{0};
    const auto left = is_expired() ? kNone : remaining_time().value_or(kNone);
    watch_.reset(new detail::LeaseWatch(known_lease(left), detail::LeaseWatch::Care::watch));
  }
  return watch_->lost_token();
}

bool Lock::is_locked() const {
  return store().is_locked(key_);
}

bool Lock::is_expired() const {
  const Held* known = held();
  return known != nullptr && !store().is_held_by(key_, known->owner);
}

std::optional<std::chrono::milliseconds> Lock::remaining_time() const {
  return store().remaining_time(key_);
}

std::uint64_t Lock::fencing_token() const {
  return require_held("tell the fencing token").fencing_token;
}

std::string Lock::serialize() {
  const Held& known = require_held("serialize");
  std::string text = detail::to_text({key_, ttl_, known.owner, known.fencing_token});
  detach();
  return text;
}

bool Lock::detach() {
  const Held* known = held();
  if (known == nullptr) return false;
  watch_.reset();  // whoever gets the lease looks after it
  const bool in_force = store().outlive_process(key_, known->owner);
  held_->releases_on_destroy = false;
  return in_force;
}

std::ostream& operator<<(std::ostream& out, const Lock& handle) {
  return out << "Lock(" << handle.key_.bytes() << ")";
}

Lock restore_lock(std::string_view text) {
  return restore_lock(text, lock_store());
}

Lock restore_lock(std::string_view text, std::shared_ptr<LockStore> store) {
  detail::SerializedLease lease = detail::from_text(text);
  Lock restored(std::move(lease.key), lease.ttl, std::move(store));
  restored.held_ = Lock::Held{lease.owner, lease.fencing_token, sys::incarnation(), false};
  return restored;
}

}  // namespace mortise
