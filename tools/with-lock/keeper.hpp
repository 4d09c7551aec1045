// Who keeps the lease alive and sees the command to its end.
//
// with-lock is two processes: the front, which the user knows, and its child, the guardian, which is the
// parent of the command. Either of them can be killed at any moment, and the other one sees to it that the
// key does not come free while the command or a descendant runs:
//
//   the guardian keeps the lease. When the front dies, it ends the command, and holds on until the last
//   descendant is gone: as a subreaper it inherits those that lost their parents.
//   When the guardian dies, the kernel kills the command, and the front does the rest in the same way.
//   When both are killed at once, the kernel kills the command, and the descendants hold the lifeline until
//   the lease expires.
#pragma once

#include <sys/types.h>

#include <optional>

#include "channel.hpp"
#include "lease.hpp"
#include "options.hpp"
#include "renewal.hpp"
#include "signals.hpp"

namespace with_lock {

class Keeper {
 public:
  // `command`: 0 when it is not known, which an heir may not. `signals` has SIGCHLD at least. `front`:
  // nullptr for an heir: it ends the command at once.
  Keeper(const Options& options, const Lease& lease, pid_t command, const SignalQueue& signals,
         Channel* front);

  struct Ending {
    int status;  // the command's, as waitpid(2) has it
    bool lease_was_lost;
  };
  // Returns when the command has ended and the lease is released.
  Ending run();

 private:
  [[nodiscard]] bool is_over() const;
  [[nodiscard]] int time_to_next_deadline() const;
  void wait();
  void reap();
  void hear_front();
  void mind_lease();
  void end_command(Clock::time_point kill_at);
  void signal_group(int signal) const;
  [[nodiscard]] bool group_exists() const;
  bool release();

  const Options& options_;
  const Lease& lease_;
  const pid_t command_;
  const SignalQueue& signals_;
  Channel* front_;
  Renewal renewal_;
  std::optional<int> status_;
  std::optional<Clock::time_point> kill_at_;  // the command is being ended
  bool has_children_ = true;
  bool lease_is_doubtful_ = false;
};

}  // namespace with_lock
