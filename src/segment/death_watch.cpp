#include "segment/death_watch.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include "sys/file.hpp"
#include "sys/process.hpp"
#include "sys/service_thread.hpp"

namespace mortise::segment {

struct DeathWatch::Watched {
  const ProcessSlots& processes;
  ProcessSlot slot;
  std::uint64_t occupant;  // who had the slot when the watch began
  std::function<void()> on_death;
  sys::FileDescriptor process;  // becomes readable when the process is gone; none: it is looked at
  bool is_over = false;

  Watched(const ProcessSlots& all, ProcessSlot watched_slot, std::function<void()> call)
      : processes(all), slot(watched_slot), occupant(all.occupant(watched_slot)), on_death(std::move(call)) {
    // The pid is that of the occupant if the slot has the same one, alive, before and after it was read.
    if (const pid_t pid = all.info(slot).pid_in_this_namespace(); pid > 0) process = sys::open_process(pid);
    if (is_dead()) report();
  }
  [[nodiscard]] bool is_dead() const {
    return processes.occupant(slot) != occupant || !processes.is_alive(slot);
  }
  void report() {
    is_over = true;
    on_death();
  }
  // After the kernel said that the process is gone. It is dead then, unless a child of its own that is just
  // being born has not yet closed its copy of the descriptor.
  void look() {
    process.reset();
    if (is_dead()) report();
  }
};

// One for each process, and another one in its forked child. Never destroyed: its thread may outlive static
// destruction, and touches nothing else.
class DeathWatch::Watcher {
 public:
  static Watcher& instance() {
    static std::atomic<Watcher*> current = nullptr;
    Watcher* watcher = current.load(std::memory_order_acquire);
    while (watcher == nullptr || watcher->incarnation_ != sys::incarnation()) {
      auto fresh = std::make_unique<Watcher>(watcher);
      if (current.compare_exchange_strong(watcher, fresh.get())) watcher = fresh.release();
    }
    return *watcher;
  }

  explicit Watcher(const Watcher* inherited) : inherited_(inherited) {}

  void add(const std::shared_ptr<Watched>& watched) {
    const std::lock_guard guard(mutex_);
    watched_.push_back(watched);
    if (!is_running_) start();
    interrupt();
  }

  // Makes no system call, for its caller was just granted a lease, unless it waited for long: the thread
  // closes what is over when it next looks.
  void remove(const std::shared_ptr<Watched>& watched) {
    const std::lock_guard guard(mutex_);
    if (is_running_) over_.push_back(watched);
    std::erase(watched_, watched);
    if (is_to_be_told_) interrupt();
  }

 private:
  // Without a thread, whoever sleeps finds out when it looks again by itself.
  void start() {
    try {
      sys::start_service_thread([this] { run(); }).detach();
      is_running_ = true;
    } catch (const std::system_error&) {
    }
  }

  void interrupt() const {
    const std::uint64_t one = 1;
    std::ignore = write(interruption_.get(), &one, sizeof(one));
  }

  // It stays a moment when there is nothing to watch: somebody may wait again soon.
  void run() {
    std::unique_lock lock(mutex_);
    for (bool was_idle = false; !watched_.empty() || !was_idle;) {
      was_idle = watched_.empty();
      Round round = next_round();
      lock.unlock();
      const int events = poll(round.files.data(), round.files.size(), round.timeout);
      lock.lock();
      is_to_be_told_ = events == 0 && !watched_.empty();
      drain();
      look(round);
      over_.clear();
    }
    is_running_ = false;
  }

  // What is polled, and what for: the first file is the interruption.
  struct Round {
    std::vector<pollfd> files;
    std::vector<std::shared_ptr<Watched>> watched;
    int timeout;
  };

  [[nodiscard]] Round next_round() const {
    constexpr int kLinger = 100;  // ms
    constexpr int kLong = 1000;   // until then nobody says when a watch is over
    const int timeout = is_to_be_told_ ? -1 : kLong;
    Round round{{{interruption_.get(), POLLIN, 0}}, {nullptr}, watched_.empty() ? kLinger : timeout};
    if (!interruption_) round.timeout = 1;
    for (const auto& watched : watched_) {
      if (watched->is_over) continue;
      if (!watched->process) round.timeout = 1;
      round.files.push_back({watched->process.get(), POLLIN, 0});
      round.watched.push_back(watched);
    }
    return round;
  }

  void look(const Round& round) const {
    for (std::size_t i = 1; i < round.files.size(); ++i) {
      if (round.files[i].fd >= 0 && round.files[i].revents == 0) continue;
      // It may have been removed meanwhile.
      const auto found = std::find(watched_.begin(), watched_.end(), round.watched[i]);
      if (found != watched_.end()) (*found)->look();
    }
  }

  void drain() const {
    std::uint64_t count = 0;
    std::ignore = read(interruption_.get(), &count, sizeof(count));
  }

  // The parent's, which may be locked for ever. Known here, it is no leak.
  [[maybe_unused]] const Watcher* const inherited_;
  const std::uint64_t incarnation_ = sys::incarnation();
  const sys::FileDescriptor interruption_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::mutex mutex_;  // held while on_death runs, so that remove() waits for it
  std::vector<std::shared_ptr<Watched>> watched_;
  std::vector<std::shared_ptr<Watched>> over_;
  bool is_running_ = false;
  bool is_to_be_told_ = false;  // when a watch is over: they last for long, and it does not look by itself
};

DeathWatch::DeathWatch(const ProcessSlots& processes, ProcessSlot slot, std::function<void()> on_death)
    : watched_(std::make_shared<Watched>(processes, slot, std::move(on_death))) {
  if (!watched_->is_over) Watcher::instance().add(watched_);
}

DeathWatch::~DeathWatch() {
  Watcher::instance().remove(watched_);
}

}  // namespace mortise::segment
