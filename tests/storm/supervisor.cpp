#include "supervisor.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <utility>

namespace mortise::storm {

using namespace std::chrono_literals;

namespace {

// Who is late by this much is spared, so that the watch finds him if he hangs ...
constexpr Time kLate = 250ms;
// ... that is, is late by that much.
constexpr Time kHanging = 5s;
// No bound is tighter than this many times what the supervisor itself had to wait for a processor.
constexpr int kPatience = 10;
constexpr auto kTick = 1ms;

}  // namespace

Supervisor::Supervisor(StormOrders orders, World& world)
    : orders_(std::move(orders)), world_(world), random_(orders_.seed) {
  for (unsigned i = 0; i < orders_.processes; ++i) {
    journals_.push_back(std::make_unique<test::Shared<Journal>>());
    seats_.emplace_back(i, world_, **journals_.back());
  }
  // The children of workers that are killed become ours.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

History Supervisor::rage(Time length, unsigned kills) {
  const Time begin = now();
  const auto is_over = [&] {
    if (world_.journal_is_full || world_.findings.count() > 0) return true;
    return now() - begin >= length && figures_.kills >= kills;
  };
  for (Time last = begin; !is_over(); std::this_thread::sleep_for(kTick)) {
    bury_the_dead();
    for (Seat& seat : seats_) {
      if (seat.is_vacant()) start(seat);
      seat.resume_if_due();
    }
    const Time current = now();
    const Time since_the_last = current - std::exchange(last, current);
    figures_.longest_tick = std::max(figures_.longest_tick, since_the_last);
    strike(since_the_last);
    watch();
  }
  figures_.raged += now() - begin;
  return end_round();
}

void Supervisor::start(Seat& seat) {
  ++figures_.starts;
  const auto process = static_cast<ProcessNumber>(lives_.size());
  lives_.emplace_back();
  seat.start({seat.index(), orders_.processes, process, random_.next(), orders_.store_url});
}

// As many as are due; what cannot be done now is not made up for later.
void Supervisor::strike(Time since_the_last) {
  const double seconds = std::chrono::duration<double>(since_the_last).count();
  for (due_kills_ += seconds * orders_.kills_per_second; due_kills_ >= 1; --due_kills_) kill_one();
  for (due_stops_ += seconds * orders_.stops_per_second; due_stops_ >= 1; --due_stops_) stop_one();
}

// A worker that runs. Some seats are struck rarely, so that there are also workers that live long.
Seat* Supervisor::random_target() {
  constexpr int kTries = 16;
  const auto count = static_cast<std::uint32_t>(seats_.size());
  const std::uint32_t veterans = count / 4;
  for (int i = 0; i < kTries; ++i) {
    Seat& seat = seats_[random_.one_in(32) ? random_.below(veterans) : random_.between(veterans, count - 1)];
    if (!seat.is_vacant() && !seat.is_condemned()) return &seat;
  }
  return nullptr;
}

void Supervisor::kill_one() {
  Seat* seat = random_target();
  if (seat == nullptr || seat->overdue() > kLate) return;
  ++figures_.kills;
  figures_.kills_of_stopped += seat->is_stopped();
  if (const auto activity = seat->activity()) ++figures_.kills_in_a_call[static_cast<std::size_t>(*activity)];
  seat->kill();
}

void Supervisor::stop_one() {
  Seat* seat = random_target();
  if (seat == nullptr || seat->is_stopped()) return;
  ++figures_.stops;
  // Mostly for less than the short leases last; seldom for longer than any waiter waits.
  const std::uint32_t longest = random_.one_in(10) ? 1000 : 50;
  seat->stop(now() + Millis(random_.between(1, longest)));
}

// False: there is no child any more.
bool Supervisor::bury_the_dead() {
  int status = 0;
  pid_t pid = 0;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
    const auto seat =
        std::find_if(seats_.begin(), seats_.end(), [pid](const Seat& one) { return one.pid() == pid; });
    if (seat == seats_.end()) continue;  // the child of a worker that was killed
    if (status != 0 && !seat->is_condemned()) {
      world_.findings.add("process " + std::to_string(seat->process()) + " ended by itself, with status " +
                          std::to_string(status));
    }
    lives_[seat->process()] = seat->bury();
  }
  return pid == 0;
}

void Supervisor::watch() {
  for (const Seat& seat : seats_) {
    if (!seat.is_vacant() && seat.overdue() > std::max(kHanging, slack()))
      world_.findings.add("hanging: " + seat.describe_activity());
  }
}

Time Supervisor::slack() const {
  return std::max<Time>(500ms, kPatience * figures_.longest_tick);
}

History Supervisor::end_round() {
  for (Seat& seat : seats_) {
    if (!seat.is_vacant() && !seat.is_condemned()) seat.kill();
  }
  const Time deadline = now() + kHanging;
  while (bury_the_dead() && now() < deadline) std::this_thread::sleep_for(kTick);
  for (const Seat& seat : seats_) {
    if (!seat.is_vacant()) world_.findings.add("does not die: " + seat.describe_activity());
  }

  History history;
  history.complete_keys = kWatchedKeys;
  history.processes = std::exchange(lives_, {});
  for (const auto& journal : journals_) {
    const std::vector<Operation> operations = (*journal)->read();
    history.operations.insert(history.operations.end(), operations.begin(), operations.end());
    (*journal)->clear();
  }
  world_.journal_is_full = false;
  for (Outbox& outbox : world_.outboxes) outbox.take();
  return history;
}

}  // namespace mortise::storm
