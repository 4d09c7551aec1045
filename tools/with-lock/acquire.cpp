#include "acquire.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <exception>
#include <system_error>
#include <thread>
#include <tuple>

#include "event.hpp"

namespace with_lock {

namespace {

// A signal that came first, if any comes before the event.
int signal_before(const Event& event, const SignalQueue& signals) {
  pollfd watched[] = {{signals.descriptor(), POLLIN, 0}, {event.descriptor(), POLLIN, 0}};
  while (watched[1].revents == 0) {
    poll(watched, std::size(watched), -1);
    if (const auto signal = signals.next()) return *signal;
  }
  return 0;
}

}  // namespace

Wait acquire(Lease& lease, std::optional<mortise::WaitTime> timeout, const SignalQueue& signals) {
  Wait wait;
  std::exception_ptr failure;
  const Event over;
  std::jthread attempt([&](const std::stop_token& stop) {
    try {
      wait.granted = lease.acquire({.timeout = timeout.value_or(std::chrono::nanoseconds::max()),
                                    .retry_delay = std::chrono::milliseconds(50),
                                    .stop = stop});
    } catch (...) {
      failure = std::current_exception();
    }
    over.raise();
  });
  const int signal = signal_before(over, signals);
  attempt.request_stop();
  attempt.join();
  if (failure != nullptr) std::rethrow_exception(failure);
  if (signal == 0) return wait;
  if (wait.granted) std::ignore = lease.release();
  return {.granted = false, .signal = signal};
}

}  // namespace with_lock
