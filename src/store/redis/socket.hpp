// A stream to a server, encrypted or not, that never waits longer than it may.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "store/redis/options.hpp"
#include "store/redis/tls.hpp"
#include "sys/clock.hpp"
#include "sys/file.hpp"

namespace mortise::store::redis {

enum class Event { readable, time_up, interrupted };

// Waits until a descriptor is readable, or another one, the interruption. -1: there is none.
Event await(int fd, sys::TimePoint deadline, int interruption);

class Socket {
 public:
  // `failure` says why there is none. A name is looked up first, for as long as the resolver takes. With a
  // context it is encrypted.
  static Socket connect(const Address& address, const TlsContext* tls, sys::TimePoint deadline,
                        std::string& failure);

  explicit operator bool() const noexcept { return static_cast<bool>(fd_); }

  // All of it, or a failure; no bytes: nothing was sent.
  Progress send(std::string_view bytes, sys::TimePoint deadline) const;
  // Some of it: at least one byte, or a failure.
  Progress receive(std::span<char> buffer, sys::TimePoint deadline) const;

  // Until there is something to be received; the end is something.
  [[nodiscard]] Event await(sys::TimePoint deadline, int interruption = -1) const;

 private:
  explicit Socket(sys::FileDescriptor fd) : fd_(std::move(fd)) {}
  // Empty: it is encrypted from now on.
  [[nodiscard]] std::string shake_hands(sys::TimePoint deadline) const;
  // As they are.
  [[nodiscard]] Progress send_bytes(std::string_view bytes, sys::TimePoint deadline) const;
  [[nodiscard]] Progress receive_bytes(std::span<char> buffer, sys::TimePoint deadline) const;
  // What comes goes to the session. Empty: something came.
  [[nodiscard]] std::string feed_session(sys::TimePoint deadline) const;

  sys::FileDescriptor fd_;
  std::unique_ptr<TlsSession> session_{};  // none: it is not encrypted
};

}  // namespace mortise::store::redis
