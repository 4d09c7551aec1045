// A stream to a server that never waits longer than it may.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "store/redis/options.hpp"
#include "sys/clock.hpp"
#include "sys/file.hpp"

namespace mortise::store::redis {

enum class Event { readable, time_up, interrupted };

// Waits until a descriptor is readable, or another one, the interruption. -1: there is none.
Event await(int fd, sys::TimePoint deadline, int interruption);

class Socket {
 public:
  // Throws nothing: `failure` says why there is none. A name is looked up first, for as long as the
  // resolver takes.
  static Socket connect(const Address& address, sys::TimePoint deadline, std::string& failure);

  explicit operator bool() const noexcept { return static_cast<bool>(fd_); }

  struct Progress {
    std::size_t bytes = 0;  // that were sent or received
    std::string failure{};  // empty: none
  };
  // All of it, or a failure.
  Progress send(std::string_view bytes, sys::TimePoint deadline) const;
  // Some of it: at least one byte, or a failure.
  Progress receive(std::span<char> buffer, sys::TimePoint deadline) const;

  // Until there is something to be received; the end is something.
  [[nodiscard]] Event await(sys::TimePoint deadline, int interruption = -1) const {
    return redis::await(fd_.get(), deadline, interruption);
  }

 private:
  explicit Socket(sys::FileDescriptor fd) : fd_(std::move(fd)) {}
  sys::FileDescriptor fd_;
};

}  // namespace mortise::store::redis
