#include "recorded_lock.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace mortise::storm {

Recorder::Recorder(World& world, Journal& journal, unsigned seat, ProcessNumber process,
                   std::shared_ptr<LockStore> store)
    : world_(world), journal_(journal), seat_(seat), process_(process), store_(std::move(store)) {}

Operation& Recorder::invoke(Operation call) {
  call.process = process_;
  if (Operation* written = journal_.invoke(call)) return *written;
  world_.journal_is_full = true;
  for (;;) pause();
}

void Recorder::visited(KeyIndex key, std::uint64_t fence, GuardedResource::Visit visit) {
  if (visit == GuardedResource::Visit::turned_away)
    tally().turned_away.fetch_add(1, std::memory_order_relaxed);
  if (visit != GuardedResource::Visit::impossible) return;
  complain("key " + std::to_string(key) + ": process " + std::to_string(process_) + " with fence " +
           std::to_string(fence) + " met fence " + std::to_string(world_.resources[key].highest()) +
           " at the guarded resource while its own lease was in force");
}

RecordedLock::RecordedLock(Recorder& recorder, KeyIndex key, Millis ttl)
    : recorder_(&recorder),
      key_(key),
      ttl_(ttl),
      lease_(recorder.new_lease()),
      lock_(key_of(key), ttl, recorder.store()) {}

RecordedLock::RecordedLock(Recorder& recorder, const Letter& letter)
    : recorder_(&recorder),
      key_(letter.key),
      ttl_{},
      lease_(letter.lease),
      lock_(restore_lock(letter.text, recorder.store())),
      certain_until_(letter.certain_until),
      detached_(true) {}

Operation RecordedLock::call(Kind kind) const {
  return {.kind = kind, .key = key_, .lease = lease_};
}

bool RecordedLock::acquire(const AcquireOptions& options, Millis patience) {
  Operation acquired = call(Kind::acquire);
  acquired.ttl = ttl_;
  acquired.timeout = patience;
  acquired.retry_delay = std::chrono::duration_cast<Millis>(options.retry_delay.nanoseconds());
  acquired.keep_alive = options.keep_alive;
  Operation& written = recorder_->invoke(acquired);
  try {
    if (!lock_.acquire(options)) {
      Journal::finish(written, Result::no);
      return false;
    }
  } catch (const StoreError& error) {
    if (error.code() != StoreErrc::stalled) throw;
    Journal::finish(written, Result::stalled);
    return false;
  }
  const std::uint64_t fence = lock_.fencing_token();
  Journal::finish(written, Result::yes, fence);
  certain_until_ = written.invoked + ttl_;
  kept_alive_ = options.keep_alive;
  if (kept_alive_) watch();
  recorder_->visited(key_, fence, resource().enter(fence, certain_until_));
  return true;
}

bool RecordedLock::extend(Millis ttl) {
  Operation extended = call(Kind::extend);
  extended.ttl = ttl;
  Operation& written = recorder_->invoke(extended);
  try {
    lock_.extend(ttl);
  } catch (const LockNotHeldError&) {
    Journal::finish(written, Result::no);
    certain_until_ = {};
    return false;
  }
  Journal::finish(written, Result::yes);
  certain_until_ = written.invoked + ttl;
  return true;
}

bool RecordedLock::check() {
  Operation& written = recorder_->invoke(call(Kind::check));
  const bool told = lost_.stop_requested();
  const bool in_force = !lock_.is_expired();
  Journal::finish(written, in_force ? Result::yes : Result::no);
  if (told && in_force)
    recorder_->complain("key " + std::to_string(key_) + ": a loss was told that did not happen");
  return in_force;
}

void RecordedLock::watch() {
  lost_ = lock_.lost_token();
}

bool RecordedLock::release() {
  Operation& written = recorder_->invoke(call(Kind::release));
  const bool released = lock_.release();
  Journal::finish(written, released ? Result::yes : Result::no);
  return released;
}

bool RecordedLock::detach() {
  Operation& written = recorder_->invoke(call(Kind::detach));
  const bool detached = lock_.detach();
  Journal::finish(written, detached ? Result::yes : Result::no);
  detached_ = true;
  return detached;
}

Letter RecordedLock::serialize() {
  Operation& written = recorder_->invoke(call(Kind::serialize));
  std::string text = lock_.serialize();
  Journal::finish(written, Result::none);
  detached_ = true;
  return {lease_, key_, certain_until_, std::move(text)};
}

void RecordedLock::drop() {
  if (detached_) return;
  Operation& written = recorder_->invoke(call(Kind::drop));
  { const Lock dropped = std::move(lock_); }
  Journal::finish(written, Result::none);
}

void RecordedLock::visit() {
  const std::uint64_t fence = lock_.fencing_token();
  recorder_->visited(key_, fence, resource().look(fence, certain_until_));
}

bool RecordedLock::is_inert() {
  try {
    lock_.extend();
    return false;
  } catch (const LockNotHeldError&) {
    return !lock_.release() && !lock_.is_expired();
  }
}

}  // namespace mortise::storm
