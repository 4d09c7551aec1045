#include "lock/lease_watch.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "mortise/errors.hpp"
#include "sys/process.hpp"
#include "sys/service_thread.hpp"

namespace mortise::detail {

// What it says is guarded by the keeper's mutex, but for what never changes. The ttl and the expiry are
// written under both mutexes.
struct LeaseWatch::Watched {
  using Schedule = std::multimap<sys::TimePoint, std::shared_ptr<Watched>>;

  Watched(WatchedLease watched_lease, bool is_renewed)
      : lease(std::move(watched_lease)), renews(is_renewed) {}

  [[nodiscard]] sys::TimePoint next_look(sys::TimePoint now) const {
    return std::min(lease.expiry, now + lease.ttl.milliseconds() / 3);
  }

  // What a look at the store found, without the keeper's mutex.
  struct Finding {
    bool lost;
    std::optional<sys::TimePoint> expiry;  // nullopt: as before
    sys::TimePoint next;
  };
  [[nodiscard]] Finding look() const {
    const Ttl ttl = lease.ttl;
    const sys::TimePoint expiry = lease.expiry;
    const sys::TimePoint now = sys::Clock::now();
    try {
      if (renews) {
        if (!lease.store->extend(lease.key, lease.owner, ttl)) return lost();
        return {false, now + ttl.milliseconds(), now + ttl.milliseconds() / 3};
      }
      if (!lease.store->is_held_by(lease.key, lease.owner)) return lost();
      if (now < expiry) return {false, std::nullopt, std::min(expiry, now + ttl.milliseconds() / 3)};
      // It was known to the millisecond only, or another handle has extended it.
      constexpr std::chrono::milliseconds kShortest{1};
      const auto left = lease.store->remaining_time(lease.key).value_or(kShortest);
      const sys::TimePoint end = now + std::max(left, kShortest);
      return {false, end, std::min(end, now + ttl.milliseconds() / 3)};
    } catch (const std::exception&) {
      // Nothing is known, so nothing is lost before its time.
      if (now >= expiry) return lost();
      return {false, std::nullopt, std::min(expiry, now + retry_delay(ttl))};
    }
  }

  WatchedLease lease;
  const bool renews;
  std::stop_source loss;
  std::optional<Schedule::iterator> place;  // none: looked at just now, lost, or let go
  bool is_let_go = false;
  // Held by who looks at it or extends it in the store, the keeper or its owner: a renewal by the ttl before
  // must not come after the owner's extension. Taken before the keeper's mutex.
  std::mutex extending;

 private:
  static Finding lost() { return {true, std::nullopt, {}}; }
  static std::chrono::milliseconds retry_delay(Ttl ttl) {
    return std::clamp(ttl.milliseconds() / 30, std::chrono::milliseconds(10),
                      std::chrono::milliseconds(1000));
  }
};

class LeaseWatch::Keeper {
 public:
  // One for each process, and another one in its forked child. Never destroyed: handles of static storage
  // duration may let go of their leases last.
  static Keeper& instance() {
    static std::atomic<Keeper*> current = nullptr;
    Keeper* keeper = current.load(std::memory_order_acquire);
    while (keeper == nullptr || !keeper->is_of_this_process()) {
      auto fresh = std::make_unique<Keeper>(keeper);
      if (!current.compare_exchange_strong(keeper, fresh.get())) continue;
      keeper = fresh.release();
      // The thread must not call stores while objects of static storage duration are destroyed.
      static std::atomic<bool> is_registered = false;
      if (!is_registered.exchange(true)) {
        std::atexit([] {
          Keeper* last = current.load();
          if (last->is_of_this_process()) last->stop();
        });
      }
    }
    return *keeper;
  }

  explicit Keeper(const Keeper* inherited) : inherited_(inherited) {}

  [[nodiscard]] bool is_of_this_process() const { return incarnation_ == sys::incarnation(); }

  void add(const std::shared_ptr<Watched>& watched, sys::TimePoint due) {
    const std::lock_guard guard(mutex_);
    ++leases_of_[watched->lease.store.get()].count;
    schedule(watched, due);
    if (!is_running_ && !is_stopped_) start(*watched);
  }

  void let_go(Watched& watched) {
    const std::lock_guard guard(mutex_);
    watched.is_let_go = true;
    forget(watched);
    if (schedule_.empty()) changed_.notify_one();  // else the thread would stay until the next look was due
  }

  void extended(const std::shared_ptr<Watched>& watched, sys::TimePoint start, Ttl ttl) {
    const std::lock_guard guard(mutex_);
    WatchedLease& lease = watched->lease;
    lease.ttl = ttl;
    lease.expiry = start + ttl.milliseconds();
    if (!watched->place) return;  // it is looked at just now, or lost
    unschedule(*watched);
    schedule(watched, watched->next_look(start));
  }

 private:
  void start(Watched& watched) {
    if (thread_.joinable()) thread_.join();  // it has nothing left to do but to end
    try {
      thread_ = sys::start_service_thread([this] { run(); });
    } catch (...) {
      forget(watched);
      throw;
    }
    is_running_ = true;
  }

  void stop() {
    {
      const std::lock_guard guard(mutex_);
      is_stopped_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable() && thread_.get_id() != std::this_thread::get_id()) thread_.join();
  }

  void schedule(const std::shared_ptr<Watched>& watched, sys::TimePoint due) {
    watched->place = schedule_.emplace(due, watched);
    if (*watched->place == schedule_.begin()) changed_.notify_one();
  }
  void unschedule(Watched& watched) {
    if (watched.place) schedule_.erase(*std::exchange(watched.place, std::nullopt));
  }

  void forget(Watched& watched) {
    unschedule(watched);
    const auto store = leases_of_.find(watched.lease.store.get());
    if (--store->second.count == 0) leases_of_.erase(store);
  }

  void run() {
    constexpr auto kLinger = std::chrono::milliseconds(100);
    std::unique_lock lock(mutex_);
    while (!is_stopped_) {
      if (schedule_.empty()) {
        if (!changed_.wait_for(lock, kLinger, [this] { return is_stopped_ || !schedule_.empty(); })) break;
      } else if (const sys::TimePoint due = schedule_.begin()->first; !has_come(due)) {
        changed_.wait_until(lock, std::min(due, next_question()));
        look_for_forced_ends();
      } else {
        look_at_the_next(lock);
      }
    }
    is_running_ = false;
  }

  // Whoever's lease was ended by force is to know at once. Nothing is asked that costs more than a look at a
  // number.
  void look_for_forced_ends() {
    for (auto& [store, leases] : leases_of_) {
      const auto ends = store->forced_ends();
      if (ends == leases.forced_ends) continue;
      leases.forced_ends = ends;
      look_at_all_of(*store);
    }
  }

  [[nodiscard]] sys::TimePoint next_question() const {
    constexpr auto kBetweenQuestions = std::chrono::milliseconds(100);
    const bool some_can_tell = std::ranges::any_of(
        leases_of_, [](const auto& each) { return each.first->forced_ends().has_value(); });
    return some_can_tell ? sys::deadline_after(kBetweenQuestions) : sys::TimePoint::max();
  }

  void look_at_all_of(const LockStore& store) {
    std::vector<std::shared_ptr<Watched>> found;
    for (const auto& [due, watched] : schedule_) {
      if (watched->lease.store.get() == &store) found.push_back(watched);
    }
    const sys::TimePoint now = sys::Clock::now();
    for (const auto& watched : found) {
      unschedule(*watched);
      schedule(watched, now);
    }
  }

  // Renewals that are due soon are done together, so that thousands of leases do not wake the thread as
  // often.
  [[nodiscard]] bool has_come(sys::TimePoint due) const {
    constexpr auto kTogether = std::chrono::milliseconds(5);
    const bool may_be_early = schedule_.begin()->second->renews;
    return sys::Clock::now() >= (may_be_early ? due - kTogether : due);
  }

  void look_at_the_next(std::unique_lock<std::mutex>& lock) {
    const std::shared_ptr<Watched> watched = schedule_.begin()->second;
    unschedule(*watched);
    lock.unlock();
    std::unique_lock alone(watched->extending);
    const Watched::Finding finding = watched->look();
    lock.lock();
    if (watched->is_let_go) return;
    if (!finding.lost) {
      watched->lease.expiry = finding.expiry.value_or(watched->lease.expiry);
      return schedule(watched, finding.next);
    }
    alone.unlock();
    lock.unlock();
    watched->loss.request_stop();
    lock.lock();
  }

  // The parent's, which may be locked for ever. Known here, it is no leak.
  [[maybe_unused]] const Keeper* const inherited_;
  const std::uint64_t incarnation_ = sys::incarnation();
  std::mutex mutex_;
  std::condition_variable changed_;
  Watched::Schedule schedule_;
  // Of each store that a lease is watched of: how many leases, and what it said of forced ends when it was
  // last asked.
  struct Leases {
    std::size_t count = 0;
    std::optional<std::uint64_t> forced_ends;
  };
  std::map<LockStore*, Leases> leases_of_;
  std::thread thread_;
  bool is_running_ = false;
  bool is_stopped_ = false;  // the process is ending
};

LeaseWatch::LeaseWatch(WatchedLease lease, Care care)
    : keeper_(Keeper::instance()),
      watched_(std::make_shared<Watched>(std::move(lease), care != Care::watch)) {
  const sys::TimePoint now = sys::Clock::now();
  keeper_.add(watched_, care == Care::renew_now ? now : watched_->next_look(now));
}

LeaseWatch::~LeaseWatch() {
  // In a forked child there is no thread to take it from, and the mutex may be locked for ever.
  if (keeper_.is_of_this_process()) keeper_.let_go(*watched_);
}

std::stop_token LeaseWatch::lost_token() const {
  return watched_->loss.get_token();
}

bool LeaseWatch::extend(Ttl ttl) {
  const std::lock_guard alone(watched_->extending);
  const sys::TimePoint start = sys::Clock::now();
  const WatchedLease& lease = watched_->lease;
  if (!lease.store->extend(lease.key, lease.owner, ttl)) return false;
  keeper_.extended(watched_, start, ttl);
  return true;
}

}  // namespace mortise::detail
