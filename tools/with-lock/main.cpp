// with-lock: runs a command while it holds the lock of a key.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <variant>

#include "acquire.hpp"
#include "channel.hpp"
#include "command.hpp"
#include "exit_codes.hpp"
#include "front.hpp"
#include "keeper.hpp"
#include "lease.hpp"
#include "mortise/errors.hpp"
#include "mortise/open_store.hpp"
#include "options.hpp"
#include "say.hpp"
#include "signals.hpp"
#include "text/key_text.hpp"

namespace with_lock {
namespace {

int exit_code_of(int status) {
  return WIFSIGNALED(status) ? kOfSignal + WTERMSIG(status) : WEXITSTATUS(status);
}

// The guardian: see keeper.hpp. It has a process group of its own, for it is not part of the user's job, and
// minds no signal but the ends of its children.
[[noreturn]] void guard(const Launch& launch, Channel front) {
  setpgid(0, 0);
  prctl(PR_SET_NAME, "with-lock-guard");
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  Keeper::Ending ending{kSystemFailed << 8, false};
  try {
    const SignalQueue children(unignored({SIGCHLD}));
    const pid_t command = start(launch);
    front.send({Channel::Message::Kind::started, command, false});
    ending = Keeper(launch.options, launch.lease, command, children, &front).run();
  } catch (const std::exception& error) {
    say(error.what());
    std::ignore = launch.lease.release();
  }
  front.send({Channel::Message::Kind::ended, ending.status, ending.lease_was_lost});
  _exit(0);
}

// Runs the command under the lease, which is held, and releases it.
int run_command(const Options& options, const Lease& lease, const sigset_t& mask_of_command) {
  const SignalQueue signals(unignored({SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH,
                                       SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU, SIGCHLD}));
  const Launch launch{options, lease, lease.lifeline(), mask_of_command};
  auto [to_guardian, to_front] = Channel::make();
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // both: either may outlive the other
  const pid_t guardian = fork();
  if (guardian < 0) throw std::system_error(errno, std::generic_category(), "cannot fork");
  if (guardian == 0) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    to_guardian.close();
    guard(launch, std::move(to_front));
  }
  to_front.close();
  setpgid(guardian, guardian);
  const auto [status, lease_was_lost] =
      Front(options, lease, signals, guardian, std::move(to_guardian)).run();
  if (lease_was_lost && options.on_lost == OnLost::kill) return kLeaseLost;
  return exit_code_of(status);
}

int run_under_lock(const Options& options) {
  // Blocked from here on: so no lease is left behind by a signal that comes just when it was granted.
  sigset_t mask;
  sigprocmask(SIG_SETMASK, nullptr, &mask);
  const SignalQueue deadly(unignored({SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM}));
  // A handler that ignores it would take the command's exit status from us.
  std::signal(SIGCHLD, SIG_DFL);

  Lease lease(mortise::open_store(options.store), options.key, options.ttl,
              options.handover ? Lease::Life::handed_over : Lease::Life::of_this_process);
  const auto start = std::chrono::steady_clock::now();
  const Wait wait = acquire(lease, options.wait, deadly);
  const std::string key = text::escape(options.key.bytes());
  if (wait.signal != 0) return kOfSignal + wait.signal;
  if (!wait.granted) {
    if (options.verbose) say(key + " is held by another");
    return options.conflict_exit_code;
  }
  if (options.verbose) {
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    say(key + " was granted after " + std::to_string(time.count()) + " seconds; executing " +
        text::escape(options.command[0]));
  }
  try {
    return run_command(options, lease, mask);
  } catch (...) {
    std::ignore = lease.release();
    throw;
  }
}

int run(int argc, char** argv) {
  try {
    const auto request = parse_command_line(argc, argv);
    if (const auto* information = std::get_if<Information>(&request)) {
      const bool written = std::fputs(information->text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
      return written ? 0 : kSystemFailed;
    }
    return run_under_lock(std::get<Options>(request));
  } catch (const std::invalid_argument& error) {
    say(error.what());
    return kUsage;
  } catch (const mortise::StoreError& error) {
    say(error.what());
    return kStoreFailed;
  } catch (const std::exception& error) {
    say(error.what());
    return kSystemFailed;
  }
}

}  // namespace
}  // namespace with_lock

int main(int argc, char** argv) {
  return with_lock::run(argc, argv);
}
