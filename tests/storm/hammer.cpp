#include "hammer.hpp"

#include <string>
#include <thread>

namespace mortise::storm {

using namespace std::chrono_literals;

void Hammer::burst() {
  constexpr int kTaps = 1000;
  const KeyIndex hot = random_hot_key();
  const std::uint32_t target = random_.below(4);
  record_one(target < 2 ? hot : random_crowd_key());

  Operation& written = recorder_.invoke({.kind = Kind::burst});
  for (int i = 0; i < kTaps; ++i) {
    switch (target) {
      case 0:
      case 1:
        tap(hot);
        break;
      case 2:
        tap(random_crowd_key());
        break;
      default:
        tap_unique_key();
    }
  }
  Journal::finish(written, Result::none);
}

void Hammer::taps() {
  for (int i = 0; i < 10; ++i) tap(random_.one_in(2) ? random_hot_key() : random_crowd_key());
}

void Hammer::record_one(KeyIndex key) {
  RecordedLock lock(recorder_, key, Millis(random_.between(20, 200)));
  if (!lock.acquire()) return;
  lock.visit();
  lock.release();
}

// Every other lease is over when its holder was off the processor for a while; the others then take over and
// hold on for as long.
void Hammer::tap(KeyIndex key) {
  const Millis ttl(random_.one_in(2) ? random_.between(1, 3) : 200);
  Lock lock(key_of(key), ttl, recorder_.store());
  const Time certain_until = now() + ttl;
  if (!granted(lock)) return;
  GuardedResource& resource = recorder_.world().resources[key];
  const std::uint64_t fence = lock.fencing_token();
  recorder_.visited(key, fence, resource.enter(fence, certain_until));
  if (random_.one_in(200)) std::this_thread::sleep_for(std::chrono::microseconds(random_.below(2000)));
  recorder_.visited(key, fence, resource.look(fence, certain_until));
  if (!lock.release() && now() < certain_until) {
    recorder_.complain("key " + std::to_string(key) + ": a lease with fence " + std::to_string(fence) +
                       " was lost while it was in force");
  }
}

void Hammer::tap_unique_key() {
  Lock lock(unique_key(recorder_.process(), ++unique_keys_), 30s, recorder_.store());
  if (granted(lock) && !lock.release())
    recorder_.complain("a lease of a key that nobody else knows was lost");
}

bool Hammer::granted(Lock& lock) {
  Tally& tally = recorder_.tally();
  try {
    const bool granted = lock.acquire_immediately();
    (granted ? tally.hammered_grants : tally.hammered_refusals).fetch_add(1, std::memory_order_relaxed);
    return granted;
  } catch (const StoreError& error) {
    if (error.code() != StoreErrc::stalled) throw;
    tally.hammered_stalls.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
}

}  // namespace mortise::storm
