// One connection to one server, introduced and ready for commands.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "store/redis/command.hpp"
#include "store/redis/options.hpp"
#include "store/redis/reply.hpp"
#include "store/redis/scripts.hpp"
#include "store/redis/socket.hpp"
#include "sys/clock.hpp"

namespace mortise::store::redis {

// Whom a connection tells about itself. Sentinels have neither the users nor the databases of a server.
enum class Introduction { as_user, none };

class Connection {
 public:
  // nullptr: `failure` says why not. It is unsent, garbage, or the server's error.
  static std::unique_ptr<Connection> open(const Address& address, const Options& options,
                                          Introduction introduction, sys::TimePoint deadline, Reply& failure);

  // One command, one reply. After anything but an answer the connection is broken.
  Reply ask(const Command& command, sys::TimePoint deadline) { return ask_raw(command.bytes(), 1, deadline); }
  // Several commands in one go; the answer to the last one.
  Reply ask_raw(std::string_view bytes, unsigned commands, sys::TimePoint deadline);

  // The two halves of ask(), for who has something else to do meanwhile.
  Reply send(std::string_view bytes, sys::TimePoint deadline);  // nil, or why it is broken
  Reply receive(sys::TimePoint deadline);
  [[nodiscard]] Event await(sys::TimePoint deadline, int interruption) const {
    return socket_.await(deadline, interruption);
  }

  // Nothing is under way, and the server has not hung up.
  [[nodiscard]] bool is_idle() const;
  [[nodiscard]] bool is_broken() const { return broken_; }
  [[nodiscard]] const Address& address() const { return address_; }
  // What the server calls it; 0: it does not say.
  [[nodiscard]] std::int64_t id() const { return id_; }

 private:
  Connection(Socket socket, Address address) : socket_(std::move(socket)), address_(std::move(address)) {}
  Reply introduce(const Options& options, sys::TimePoint deadline);
  Reply broken(Reply reply);

  Socket socket_;
  Address address_;
  ReplyReader reader_;
  std::int64_t id_ = 0;
  bool broken_ = false;
};

}  // namespace mortise::store::redis
