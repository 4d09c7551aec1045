#include "store/redis/connection.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace mortise::store::redis {

std::unique_ptr<Connection> Connection::open(const Address& address, const Options& options,
                                             Introduction introduction, sys::TimePoint deadline,
                                             Reply& failure) {
  std::string reason;
  const sys::TimePoint soon = std::min(deadline, sys::deadline_after(options.connect_timeout));
  Socket socket = Socket::connect(address, options.tls.get(), soon, reason);
  if (!socket) {
    failure = Reply::without(Reply::Kind::unsent, std::move(reason));
    return nullptr;
  }
  std::unique_ptr<Connection> connection(new Connection(std::move(socket), address));
  if (introduction == Introduction::none) return connection;
  failure = connection->introduce(options, soon);
  if (failure.kind == Reply::Kind::nil) return connection;
  // Whatever became of the introduction, the command that was to follow has not been sent.
  if (failure.kind == Reply::Kind::unknown) failure.kind = Reply::Kind::unsent;
  return nullptr;
}

// All in one go. A server that refuses to be told a name, or its id, is as good as any.
Reply Connection::introduce(const Options& options, sys::TimePoint deadline) {
  struct Step {
    Command command;
    bool is_needed;
  };
  std::vector<Step> steps;
  if (!options.user.empty()) {
    steps.push_back({Command("AUTH", options.user, options.password), true});
  } else if (!options.password.empty()) {
    steps.push_back({Command("AUTH", options.password), true});
  }
  if (options.database != 0) steps.push_back({Command("SELECT", options.database), true});
  steps.push_back({Command("CLIENT", "SETNAME", "mortise-" + std::to_string(getpid())), false});
  steps.push_back({Command("CLIENT", "ID"), false});

  std::string bytes;
  for (const Step& step : steps) bytes += step.command.bytes();
  if (Reply sent = send(bytes, deadline); !sent.came()) return sent;
  Reply refusal;
  for (const Step& step : steps) {
    Reply reply = receive(deadline);
    if (!reply.came()) return reply;
    if (step.is_needed && reply.kind == Reply::Kind::error && refusal.kind == Reply::Kind::nil)
      refusal = std::move(reply);
    else if (reply.kind == Reply::Kind::integer)
      id_ = reply.integer;
  }
  return refusal;
}

Reply Connection::ask_raw(std::string_view bytes, unsigned commands, sys::TimePoint deadline) {
  Reply reply = send(bytes, deadline);
  for (unsigned i = 0; i < commands && reply.came(); ++i) reply = receive(deadline);
  return reply;
}

Reply Connection::send(std::string_view bytes, sys::TimePoint deadline) {
  const Progress sent = socket_.send(bytes, deadline);
  if (sent.failure.empty()) return {};
  // A part of a command is not carried out, but who knows where several commands were cut?
  return broken(Reply::without(sent.bytes == 0 ? Reply::Kind::unsent : Reply::Kind::unknown, sent.failure));
}

Reply Connection::receive(sys::TimePoint deadline) {
  std::array<char, 4096> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  for (;;) {
    if (std::optional<Reply> reply = reader_.next()) return broken(std::move(*reply));
    const Progress received = socket_.receive(buffer, deadline);
    if (!received.failure.empty()) return broken(Reply::without(Reply::Kind::unknown, received.failure));
    reader_.feed(buffer.data(), received.bytes);
  }
}

Reply Connection::broken(Reply reply) {
  broken_ = broken_ || !reply.came();
  return reply;
}

bool Connection::is_idle() const {
  return !broken_ && socket_.await(sys::TimePoint(), -1) == Event::time_up;
}

}  // namespace mortise::store::redis
