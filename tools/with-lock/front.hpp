// The process that the user knows as with-lock.
#pragma once

#include <sys/types.h>

#include "channel.hpp"
#include "keeper.hpp"
#include "lease.hpp"
#include "options.hpp"
#include "signals.hpp"
#include "terminal.hpp"

namespace with_lock {

// Passes signals on to the command, stops and goes on with it, and reports how it ended.
class Front {
 public:
  Front(const Options& options, const Lease& lease, const SignalQueue& signals, pid_t guardian,
        Channel to_guardian);
  Keeper::Ending run();

 private:
  void pass_signals_on() const;
  void mind_guardian() const;
  void send_signal(int signal) const { guardian_.send({Channel::Message::Kind::signal, signal, false}); }
  void stop_like_command(int signal);

  const Options& options_;
  const Lease& lease_;
  const SignalQueue& signals_;
  const pid_t guardian_pid_;
  Channel guardian_;
  Terminal terminal_;
  pid_t command_ = 0;
};

}  // namespace with_lock
