#include "keeper.hpp"

#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <iterator>

#include "mortise/errors.hpp"
#include "say.hpp"

namespace with_lock {

namespace {

using std::chrono::milliseconds;

// From SIGTERM to SIGKILL, when nothing else presses.
constexpr std::chrono::seconds kGrace(10);
constexpr milliseconds kPoll(50);

constexpr int killed_status() {
  return SIGKILL;
}

}  // namespace

Keeper::Keeper(const Options& options, const Lease& lease, pid_t command, const SignalQueue& signals,
               Channel* front)
    : options_(options),
      lease_(lease),
      command_(command),
      signals_(signals),
      front_(front),
      renewal_(lease, Clock::now() + lease.ttl().milliseconds()) {
  if (command_ == 0) status_ = killed_status();
  if (front_ == nullptr) end_command(Clock::now());
}

Keeper::Ending Keeper::run() {
  for (reap(); !is_over(); reap()) {
    wait();
    mind_lease();
    if (kill_at_ && Clock::now() >= *kill_at_) signal_group(SIGKILL);
  }
  renewal_.stop();
  const bool was_released = release();
  return {*status_, lease_is_doubtful_ || !was_released};
}

// Usually when the command has ended: what it left in the background is free to go on. But who had to be
// ended is gone only when the whole group is; and when the front was killed, nobody has said that the
// descendants may go on without the lease.
bool Keeper::is_over() const {
  if (!status_) return false;
  if (front_ == nullptr && has_children_) return false;
  return !kill_at_ || !group_exists();
}

void Keeper::wait() {
  pollfd watched[] = {{signals_.descriptor(), POLLIN, 0},
                      {renewal_.is_lost() ? -1 : renewal_.descriptor(), POLLIN, 0},
                      {front_ != nullptr ? front_->descriptor() : -1, POLLIN, 0}};
  poll(watched, std::size(watched), time_to_next_deadline());
  while (signals_.next()) {
  }
  if (watched[2].revents != 0) hear_front();
}

int Keeper::time_to_next_deadline() const {
  if (kill_at_ && (status_ || Clock::now() >= *kill_at_)) return kPoll.count();
  auto next = Clock::time_point::max();
  if (!lease_is_doubtful_) next = renewal_.expiry() - lease_.ttl().milliseconds() / 3;
  if (kill_at_) next = std::min(next, *kill_at_);
  if (next == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<milliseconds>(next - Clock::now());
  return static_cast<int>(std::clamp(left, milliseconds(0), milliseconds(std::chrono::hours(1))).count());
}

void Keeper::reap() {
  for (;;) {
    int status = 0;
    const pid_t child = waitpid(-1, &status, WNOHANG | WUNTRACED);
    if (child <= 0) {
      has_children_ = child == 0 || errno != ECHILD;
      // Its guardian had waited for it, and was killed before it could say so.
      if (!has_children_ && !status_) status_ = killed_status();
      return;
    }
    if (child != command_) continue;
    if (!WIFSTOPPED(status)) {
      status_ = status;
    } else if (front_ != nullptr) {
      front_->send({Channel::Message::Kind::stopped, WSTOPSIG(status), false});
    }
  }
}

void Keeper::hear_front() {
  if (const auto message = front_->receive()) {
    if (!status_) signal_group(message->value);
    return;
  }
  front_ = nullptr;
  end_command(Clock::now() + kGrace);
}

// The command has to be gone when somebody else can have the key. When the store does not answer, a third of
// the ttl is left for that.
void Keeper::mind_lease() {
  if (lease_is_doubtful_) return;
  const Clock::time_point now = Clock::now();
  const auto third = lease_.ttl().milliseconds() / 3;
  const bool is_lost = renewal_.is_lost();
  if (!is_lost && now < renewal_.expiry() - third) return;
  lease_is_doubtful_ = true;
  if (options_.handover && options_.on_lost == OnLost::warn) return;  // the command may have released it
  say(is_lost ? "the lease is lost: " + renewal_.how_it_ended()
              : "the lease could not be renewed in time, and is about to expire");
  if (options_.on_lost == OnLost::warn) return;
  say("ending the command");
  end_command(is_lost ? now + std::min<Clock::duration>(third, kGrace) : renewal_.expiry());
}

void Keeper::end_command(Clock::time_point kill_at) {
  signal_group(SIGTERM);
  signal_group(SIGCONT);  // one that is stopped, too
  kill_at_ = std::min(kill_at_.value_or(kill_at), kill_at);
}

void Keeper::signal_group(int signal) const {
  if (command_ > 0) kill(-command_, signal);
}

bool Keeper::group_exists() const {
  return command_ > 0 && (kill(-command_, 0) == 0 || errno != ESRCH);
}

bool Keeper::release() {
  try {
    return lease_.release();
  } catch (const mortise::StoreError& error) {
    say(std::string("the key could not be released, and is held until its expiry: ") + error.what());
    return true;
  }
}

}  // namespace with_lock
