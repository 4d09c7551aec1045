#include "crash/staging.hpp"

#include <sched.h>

#include <charconv>
#include <stdexcept>
#include <string>

#include "lock/serialize.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"
#include "table/lock_table.hpp"

namespace mortise::crash {

using namespace std::chrono_literals;
using test::Channel;

namespace {

// Why somebody who sleeps on the key is asleep, and how many do.
struct Sleep {
  table::Lease lease;
  unsigned sleepers;
};
Sleep sleep_on_the_key(const World& world) {
  const TableImage table = world.image();
  const SlotImage* slot = table.find(kKey);
  return slot == nullptr ? Sleep{{}, 0} : Sleep{slot->lease, sys::count_sleepers(slot->sleep_word)};
}

// What the victim has in hand.
class Session {
 public:
  Session(const World& world, const Operation& operation, OwnerToken token, Answer& answer)
      : world_(world), operation_(operation), token_(token), answer_(answer) {}

  void prepare() {
    if (operation_.attaches) return;
    store_ = world_.open();
    if (operation_.waits) table_.emplace(world_.open_segment());
    if (operation_.kind == Operation::Kind::acquire) {
      // It attaches by this.
      if (!lock(LockKey(world_.known_key()), kLongTtl, store_).acquire())
        throw std::runtime_error("a key is not free");
    } else {
      const auto grant = store_->acquire(kKey, token_, operation_.lease_before);
      if (!grant) throw std::runtime_error("the key is not free");
      take_hold(grant->fencing_token);
    }
    let_looks_become_old();
  }

  void operate() {
    switch (operation_.kind) {
      case Operation::Kind::acquire:
        return acquire();
      case Operation::Kind::extend:
        return extend();
      case Operation::Kind::release:
        answer_.success = handle_->release();
        return;
      case Operation::Kind::serialize:
        answer_.success = !handle_->serialize().empty();
        return;
      case Operation::Kind::detach:
        answer_.success = handle_->detach();
        return;
    }
  }

  // The handle finds out the truth, whatever the operation told it.
  void conclude() {
    take_hold(answer_.fence);
    answer_.expired = handle_->is_expired();
    try {
      handle_->extend(kLongTtl);
      answer_.extended = true;
    } catch (const LockNotHeldError&) {
      answer_.extended = false;
    }
    answer_.released = handle_->release();
    answer_.left_a_sleeper = leaves_a_sleeper();
  }

 private:
  // The death of this process would wake whoever still sleeps: so it lives on for a while.
  [[nodiscard]] bool leaves_a_sleeper() const {
    const auto deadline = sys::deadline_after(std::chrono::seconds(1));
    for (;;) {
      const auto [lease, sleepers] = sleep_on_the_key(world_);
      if (!lease.is_free() || sleepers == 0) return false;
      if (sys::has_come(deadline)) return true;
      sched_yield();
    }
  }
  // At full speed the operation takes the course that it took step by step: then, no look at the clock or at
  // a process was recent enough to be used again.
  static void let_looks_become_old() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }
  void take_hold(std::uint64_t fence) {
    answer_.fence = fence;
    handle_ = restore_lock(detail::to_text({kKey, operation_.ttl, token_, fence}), store_);
  }
  void acquire() {
    if (operation_.attaches) store_ = world_.open();
    if (operation_.waits) return wait();
    const auto grant = store_->acquire(kKey, token_, operation_.ttl);
    if (!grant) return;
    answer_.fence = grant->fencing_token;
    answer_.success = true;
  }
  // What acquire_within() does, without the watcher of the holder's death: that is another thread, and would
  // run into the breakpoints that are set for this one.
  void wait() {
    const LockKey key(kKey);
    constexpr std::chrono::nanoseconds kNoPatience{0};
    auto attempt = table_->acquire(key, token_, operation_.ttl, kNoPatience);
    while (attempt.outcome == table::LockTable::Outcome::busy) {
      table::LockTable::sleep(*attempt.slot, attempt.seen, nullptr, attempt.seen.expiry());
      attempt = table_->acquire(key, token_, operation_.ttl, kNoPatience);
    }
    answer_.fence = attempt.fence;
    answer_.success = attempt.outcome == table::LockTable::Outcome::granted;
  }
  void extend() {
    try {
      handle_->extend(operation_.ttl);
      answer_.success = true;
    } catch (const LockNotHeldError&) {
      answer_.success = false;
    }
  }

  const World& world_;
  const Operation& operation_;
  OwnerToken token_;
  Answer& answer_;
  std::shared_ptr<LockStore> store_;
  std::optional<table::LockTable> table_;
  std::optional<Lock> handle_;
};

}  // namespace

Sleeper::Sleeper(const World& world, std::chrono::milliseconds retry_delay, unsigned others)
    : retry_delay_(retry_delay), process_([&world, this](Channel& test) {
        constexpr auto kLimit = 20s;
        const test::Watchdog watchdog(kLimit);
        const auto store = world.open();
        const auto grant = store->acquire_within(kKey, token_, kLongTtl, {kLimit, retry_delay_});
        test.send(std::to_string(grant ? grant->fencing_token : 0));
        std::ignore = test.receive();
        test.send(store->release(kKey, token_) ? "released" : "lost");
      }) {
  // The first sleep of a wait is brief; before the next one a second thread begins to watch the holder.
  const bool holder_is_known = sleep_on_the_key(world).lease.binding() != table::Lease::kUnbound;
  while (holder_is_known && test::count_threads(pid_) == 1) sched_yield();
  while (sleep_on_the_key(world).sleepers <= others) sched_yield();
}

std::uint64_t Sleeper::await_grant() {
  const std::string text = process_.receive();
  std::uint64_t fence = 0;
  std::from_chars(text.data(), text.data() + text.size(), fence);
  if (fence == 0) throw std::runtime_error("the sleeper was not granted the key");
  return fence;
}

bool Sleeper::release() {
  process_.send("release");
  const bool released = process_.receive() == "released";
  is_served_ = true;
  return process_.wait() == 0 && released;
}

Staging::Staging(const World& world, const Operation& operation)
    : world_(world), operation_(operation), victim_(victim_body()), before_() {
  if (operation.waits) {
    victim_.expect({[this] { return victim_is_asleep(); }, [this] { wake_victim(); }});
  } else if (operation.sleeper != Operation::Sleeper::none) {
    start_sleeper(0);
  }
  before_ = world.image();
}

Tracee::Body Staging::victim_body() const {
  world_.restore();
  const auto session = std::make_shared<Session>(world_, operation_, token_, *answer_);
  return {[session] { session->prepare(); }, [session] { session->operate(); },
          [session] { session->conclude(); }};
}

// The victim is the first who sleeps; then the sleeper does, too, and may be the first to get the key.
bool Staging::victim_is_asleep() const {
  const auto [lease, sleepers] = sleep_on_the_key(world_);
  return sleepers == 1 && (!key_was_released_ || lease.is_held_by(sleeper_->actor().token));
}

void Staging::wake_victim() {
  if (!key_was_released_) {
    start_sleeper(1);
    release_key();
  } else {
    std::ignore = sleeper_->await_grant();
    std::ignore = sleeper_->release();
  }
}

void Staging::start_sleeper(unsigned others) {
  constexpr auto kImpatience = 5ms;
  constexpr auto kPatience = 30s;
  // Long enough for the victim to come first, when both are woken.
  constexpr auto kPoliteness = 50ms;
  const bool patient = operation_.sleeper == Operation::Sleeper::patient;
  sleeper_.emplace(world_, patient ? kPatience : operation_.waits ? kPoliteness : kImpatience, others);
}

void Staging::release_key() {
  if (!world_.bystander_releases(kKey)) throw std::runtime_error("the bystander lost the key");
  key_was_released_ = true;
}

Law Staging::law(bool victim_lives) const {
  Law law{{{token_, operation_.ttl, victim_pid_}}, {}, begin_};
  if (sleeper_) law.actors.push_back(sleeper_->actor());
  if (operation_.waits) law.actors.push_back({world_.bystanders().at(kKey), kLongTtl, world_.bystander()});
  for (const auto& [key, token] : world_.bystanders()) law.live.push_back(token);
  if (sleeper_) law.live.push_back(sleeper_->actor().token);
  if (victim_lives) law.live.push_back(token_);
  return law;
}

}  // namespace mortise::crash
