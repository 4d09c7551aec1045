#include "worker.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <exception>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "hammer.hpp"
#include "mortise/mortise.hpp"
#include "random.hpp"
#include "recorded_lock.hpp"

namespace mortise::storm {

namespace {

using namespace std::chrono_literals;

class Worker {
 public:
  Worker(const WorkerOrders& orders, World& world, Journal& journal)
      : seats_(orders.seats),
        random_(orders.seed),
        recorder_(world, journal, orders.seat, orders.process, open_store(orders.store_url)) {}

  void step() { (this->*random_.choose(std::span<const Step>(kSteps)).take)(); }

 private:
  struct Step {
    std::uint32_t weight;
    void (Worker::*take)();
  };
  static const std::array<Step, 11> kSteps;

  void burst() { hammer_.burst(); }

  void acquire_now() { acquire({}, {}); }

  void acquire_waiting() {
    const Millis timeout(random_.between(1, 200));
    acquire({.timeout = timeout, .retry_delay = random_retry_delay()}, timeout);
  }

  void acquire_and_keep_alive() {
    const Millis timeout(random_.one_in(2) ? 0 : random_.between(1, 200));
    acquire({.timeout = timeout, .retry_delay = random_retry_delay(), .keep_alive = true}, timeout);
  }

  void acquire_until_stopped() {
    std::stop_source source;
    const Millis patience(random_.between(1, 30));
    const std::jthread stopper([&source, patience] {
      std::this_thread::sleep_for(patience);
      source.request_stop();
    });
    acquire({.timeout = 1h, .retry_delay = random_retry_delay(), .stop = source.get_token()}, patience);
  }

  void acquire(const AcquireOptions& options, Millis patience) {
    constexpr std::size_t kMostLeases = 3;
    if (held_.size() == kMostLeases) return;
    RecordedLock lock(recorder_, random_.below(random_.one_in(2) ? kHotKeys : kWatchedKeys),
                      options.keep_alive ? random_kept_ttl() : random_ttl());
    if (!lock.acquire(options, patience)) return;
    // Who has waited does not know since when he holds the key. An extension has a time of its own.
    if (!options.timeout.is_zero() && random_.one_in(2)) lock.extend(random_short_ttl());
    held_.push_back(std::move(lock));
  }

  void take_over() {
    Outbox& outbox = recorder_.world().outboxes[random_.below(seats_)];
    if (const auto letter = outbox.take()) held_.emplace_back(recorder_, *letter);
  }

  void tend() {
    if (held_.empty()) return;
    const std::size_t index = random_.below(static_cast<std::uint32_t>(held_.size()));
    const Care& care = random_.choose(std::span<const Care>(kCares));
    (this->*care.give)(held_[index]);
    if (care.is_the_last) held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  // What a worker does with a lease that it holds, as far as it knows.
  struct Care {
    std::uint32_t weight;
    void (Worker::*give)(RecordedLock&);
    bool is_the_last;
  };
  static const std::array<Care, 11> kCares;

  void check(RecordedLock& lock) { lock.check(); }
  void visit(RecordedLock& lock) { lock.visit(); }
  void watch(RecordedLock& lock) {
    lock.watch();
    lock.check();
  }
  void extend(RecordedLock& lock) { lock.extend(lock.is_detached() ? random_short_ttl() : random_ttl()); }
  void shorten(RecordedLock& lock) { lock.extend(Millis(random_.between(1, 20))); }
  void drop(RecordedLock& lock) { lock.drop(); }
  void release(RecordedLock& lock) {
    lock.visit();
    lock.release();
  }
  void release_twice(RecordedLock& lock) {
    lock.release();
    lock.release();
  }
  // A renewal that is under way when the lease is let go would make its end uncertain.
  void detach(RecordedLock& lock) {
    if (lock.is_kept_alive()) return release(lock);
    if (lock.extend(random_short_ttl())) lock.detach();
  }
  void hand_over(RecordedLock& lock) {
    if (lock.is_kept_alive()) return release(lock);
    if (lock.extend(random_short_ttl())) recorder_.outbox().put(lock.serialize());
  }
  void overstay(RecordedLock& lock) {
    constexpr auto kLongestStay = 50ms;
    constexpr auto kLateExpiry = 6ms;
    if (lock.certain_until() < now() + kLongestStay)
      std::this_thread::sleep_for(lock.certain_until() + kLateExpiry - now());
    lock.visit();
    if (random_.one_in(2)) lock.extend(random_short_ttl());
    lock.release();
  }

  // With a token that was never granted.
  void release_in_vain() {
    const KeyIndex key = random_.below(kWatchedKeys);
    Operation& written = recorder_.invoke({.kind = Kind::release, .key = key, .lease = kNobodys});
    const bool released = recorder_.store()->release(key_of(key), OwnerToken::generate());
    Journal::finish(written, released ? Result::yes : Result::no);
  }

  void fork_child() {
    // If this process is killed in here, its leases last until the child runs or they expire.
    for (RecordedLock& lock : held_) lock.extend(random_short_ttl());
    Operation& written = recorder_.invoke({.kind = Kind::fork});
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() == parent) live_as_a_child();
      _exit(0);
    }
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (child < 0 || status != 0) recorder_.complain("a forked child failed: " + std::to_string(status));
    Journal::finish(written, Result::none);
  }

  // It has its parent's handles, which are nothing to it, and leases of its own.
  void live_as_a_child() noexcept {
    try {
      for (RecordedLock& lock : held_) {
        if (!lock.is_inert()) recorder_.complain("a forked child could use its parent's lease");
      }
      hammer_.taps();
      if (random_.one_in(2)) held_.clear();
    } catch (const std::exception& error) {
      recorder_.complain(std::string("in a forked child: ") + error.what());
    }
  }

  void rest() { std::this_thread::sleep_for(std::chrono::microseconds(random_.below(2000))); }

  void leave() {
    recorder_.invoke({.kind = Kind::exit});
    _exit(0);
  }

  // Mostly short enough to find what was missed; sometimes only a wake-up ends the sleep.
  Millis random_retry_delay() {
    return Millis(random_.one_in(4) ? random_.between(1000, 10'000) : random_.between(1, 50));
  }
  // Mostly so long that a renewal cannot be too late.
  Millis random_kept_ttl() {
    return Millis(random_.one_in(4) ? random_.between(20, 200) : random_.between(2000, 4000));
  }
  Millis random_short_ttl() { return Millis(random_.between(20, kLongestDetached.count())); }
  Millis random_ttl() {
    switch (random_.below(10)) {
      case 0:
        return Millis(random_.between(10'000, 30'000));
      case 1:
      case 2:
        return Millis(random_.between(1, 5));
      default:
        return random_short_ttl();
    }
  }

  unsigned seats_;
  Random random_;
  Recorder recorder_;
  Hammer hammer_{recorder_, random_};
  std::vector<RecordedLock> held_;
};

constexpr std::array<Worker::Step, 11> Worker::kSteps = {{
    {300, &Worker::burst},
    {400, &Worker::tend},
    {200, &Worker::acquire_now},
    {100, &Worker::acquire_waiting},
    {60, &Worker::acquire_and_keep_alive},
    {10, &Worker::acquire_until_stopped},
    {60, &Worker::take_over},
    {20, &Worker::release_in_vain},
    {5, &Worker::fork_child},
    {300, &Worker::rest},
    {1, &Worker::leave},
}};

constexpr std::array<Worker::Care, 11> Worker::kCares = {{
    {10, &Worker::check, false},
    {10, &Worker::visit, false},
    {2, &Worker::watch, false},
    {15, &Worker::extend, false},
    {10, &Worker::shorten, false},
    {5, &Worker::drop, true},
    {30, &Worker::release, true},
    {3, &Worker::release_twice, true},
    {5, &Worker::detach, true},
    {10, &Worker::hand_over, true},
    {5, &Worker::overstay, true},
}};

}  // namespace

void work(const WorkerOrders& orders, World& world, Journal& journal) {
  try {
    Worker worker(orders, world, journal);
    for (;;) worker.step();
  } catch (const std::exception& error) {
    world.findings.add("process " + std::to_string(orders.process) + ": " + error.what());
    _exit(1);
  }
}

}  // namespace mortise::storm
