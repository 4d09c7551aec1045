#include "lease.hpp"

#include <cerrno>
#include <system_error>

#include "mortise/lock.hpp"
#include "mortise/table_lock_store.hpp"

namespace with_lock {

bool Lease::acquire(const mortise::WaitOptions& options) {
  if (life_ == Life::handed_over) return acquire_to_hand_over(options);
  const auto grant = store_->acquire_within(key_, owner_, ttl_, options);
  if (grant) fencing_token_ = grant->fencing_token;
  return grant.has_value();
}

bool Lease::acquire_to_hand_over(const mortise::WaitOptions& options) {
  mortise::Lock lock(key_, ttl_, store_);
  if (!lock.acquire({.timeout = options.timeout, .retry_delay = options.retry_delay, .stop = options.stop}))
    return false;
  fencing_token_ = lock.fencing_token();
  text_ = lock.serialize();
  return true;
}

bool Lease::extend() const {
  if (life_ == Life::of_this_process) return store_->extend(key_, owner_, ttl_);
  try {
    mortise::restore_lock(text_, store_).extend();
    return true;
  } catch (const mortise::LockNotHeldError&) {
    return false;
  }
}

bool Lease::release() const {
  if (life_ == Life::of_this_process) return store_->release(key_, owner_);
  return mortise::restore_lock(text_, store_).release();
}

int Lease::lifeline() const {
  const auto* const table = dynamic_cast<const mortise::TableLockStore*>(store_.get());
  if (table == nullptr || life_ == Life::handed_over) return -1;
  const int descriptor = table->duplicate_lifeline();
  if (descriptor < 0) throw std::system_error(errno, std::generic_category(), "no descriptor is left");
  return descriptor;
}

}  // namespace with_lock
