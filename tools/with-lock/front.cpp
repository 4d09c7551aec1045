#include "front.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <iterator>
#include <utility>

#include "say.hpp"

namespace with_lock {

namespace {

// Stops this process, or all of its group, by the signal. False: it was not stopped, for nobody could
// continue a group without a shell.
bool stop_self(int signal, bool whole_group) {
  sigset_t set;
  sigset_t before;
  sigemptyset(&set);
  sigaddset(&set, signal);
  kill(whole_group ? 0 : getpid(), signal);
  sigprocmask(SIG_UNBLOCK, &set, &before);  // here
  sigprocmask(SIG_SETMASK, &before, nullptr);
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, SIGCONT) == 1;
}

}  // namespace

Front::Front(const Options& options, const Lease& lease, const SignalQueue& signals, pid_t guardian,
             Channel to_guardian)
    : options_(options),
      lease_(lease),
      signals_(signals),
      guardian_pid_(guardian),
      guardian_(std::move(to_guardian)) {}

Keeper::Ending Front::run() {
  for (;;) {
    pollfd watched[] = {{signals_.descriptor(), POLLIN, 0}, {guardian_.descriptor(), POLLIN, 0}};
    poll(watched, std::size(watched), -1);
    pass_signals_on();
    if (watched[1].revents == 0) continue;
    const auto message = guardian_.receive();
    if (!message) {
      say("its guardian was killed; ending the command");
      return Keeper(options_, lease_, command_, signals_, nullptr).run();
    }
    switch (message->kind) {
      case Channel::Message::Kind::started:
        command_ = message->value;
        break;
      case Channel::Message::Kind::stopped:
        stop_like_command(message->value);
        break;
      default:
        waitpid(guardian_pid_, nullptr, 0);
        return {message->value, message->lease_was_lost};
    }
  }
}

void Front::pass_signals_on() const {
  while (const auto signal = signals_.next()) {
    if (*signal == SIGCHLD) {
      mind_guardian();
    } else {
      send_signal(*signal);
    }
  }
}

// Nobody stops it by mistake: nothing would keep the lease alive.
void Front::mind_guardian() const {
  siginfo_t child{};
  waitid(P_PID, static_cast<id_t>(guardian_pid_), &child, WSTOPPED | WNOHANG);
  if (child.si_pid == guardian_pid_) kill(guardian_pid_, SIGCONT);
}

// The shell has to see its job stopped, and continues it as a whole. A command that was stopped by SIGSTOP
// itself is left alone: whoever did that continues it.
void Front::stop_like_command(int signal) {
  if (signal == SIGSTOP) return;
  const bool wants_terminal = signal == SIGTTIN || signal == SIGTTOU;
  if (!wants_terminal || !terminal_.is_ours()) {
    const bool had_terminal = terminal_.is_lent();
    terminal_.take_back();
    const bool was_continued = stop_self(signal, had_terminal);
    if (had_terminal && !wants_terminal && terminal_.is_ours()) terminal_.lend(command_);
    // As the kernel does with a stopped group that has lost its shell.
    if (!was_continued && wants_terminal) send_signal(SIGHUP);
  }
  if (wants_terminal && terminal_.is_ours()) terminal_.lend(command_);
  send_signal(SIGCONT);
}

}  // namespace with_lock
