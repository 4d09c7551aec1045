#include "store/redis/bell.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "store/redis/options.hpp"

namespace mortise::store::redis {

namespace {

// A server does not know that a waiter's host is gone: it forgets those that do not come back.
constexpr std::chrono::seconds kLongestPop{60};

// Raises the eventfd when stop is requested.
auto raising(const std::stop_token& stop, int eventfd) {
  return std::stop_callback(stop, [eventfd] {
    const std::uint64_t one = 1;
    std::ignore = write(eventfd, &one, sizeof one);
  });
}

}  // namespace

Bell::Bell(Client& client, const KeyNames& names, std::stop_token stop)
    : client_(client), names_(names), stop_(std::move(stop)) {
  if (stop_.stop_possible()) stopped_ = sys::FileDescriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

// Closed in the middle of its waiting, the connection takes the waiter with it.
Bell::~Bell() = default;

Bell::End Bell::sleep_until(sys::TimePoint time) {
  const auto callback = raising(stop_, stopped_.get());
  while (connection_ || listen()) {
    if (const auto end = hear(time)) return *end;
  }
  // Without a connection to listen on, it is a plain sleep.
  return await(-1, time, stopped_.get()) == Event::interrupted ? End::stopped : End::time_up;
}

bool Bell::listen() {
  if (std::exchange(is_deaf_, false)) return false;
  const sys::TimePoint deadline = client_.deadline();
  auto connection = client_.borrow(slot_of(names_.lease), deadline);
  if (!connection) return false;
  const Command pop("BLPOP", names_.bell, kLongestPop.count());
  if (!connection->send(pop.bytes(), deadline).came()) return false;
  connection_ = std::move(connection);
  return true;
}

// Whatever the server says ends the pop. It says nil when it has waited long enough for its part; anything
// but that would be said again at once.
std::optional<Bell::End> Bell::hear(sys::TimePoint time) {
  switch (connection_->await(time, stopped_.get())) {
    case Event::time_up:
      return End::time_up;
    case Event::interrupted:
      return End::stopped;
    case Event::readable:
      break;
  }
  const Reply reply = connection_->receive(client_.deadline());
  client_.give_back(std::move(connection_));
  if (reply.kind == Reply::Kind::array) return End::rung;
  if (reply.kind == Reply::Kind::nil) return std::nullopt;
  is_deaf_ = true;
  return std::nullopt;
}

bool Bell::stop_listening() {
  if (!connection_) return false;
  std::unique_ptr<Connection> connection = std::move(connection_);
  const std::int64_t id = connection->id();
  if (id == 0) return false;
  const sys::TimePoint deadline = client_.deadline();
  Reply failure;
  auto helper = client_.pool().take(connection->address(), deadline, failure);
  if (!helper) return false;
  const Reply unblocked = helper->ask(Command("CLIENT", "UNBLOCK", id), deadline);
  client_.give_back(std::move(helper));
  if (unblocked.kind != Reply::Kind::integer) return false;
  const Reply reply = connection->receive(deadline);
  client_.give_back(std::move(connection));
  return reply.kind == Reply::Kind::array;
}

}  // namespace mortise::store::redis
