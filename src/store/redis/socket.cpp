#include "store/redis/socket.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

namespace mortise::store::redis {

namespace {

constexpr const char* kTimeUp = "it did not answer in time";

std::string sentence_of(int error) {
  return std::generic_category().message(error);
}

// Of at most two descriptors. 0: the time is up.
int poll_until(std::span<pollfd> descriptors, sys::TimePoint deadline) {
  for (;;) {
    timespec time{};
    if (deadline != sys::TimePoint::max()) {
      const auto left = std::max(deadline - sys::Clock::now(), sys::Clock::duration::zero());
      const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
      time = {static_cast<time_t>(seconds.count()), static_cast<long>((left - seconds).count())};
    }
    const int ready = ppoll(descriptors.data(), descriptors.size(),
                            deadline == sys::TimePoint::max() ? nullptr : &time, nullptr);
    if (ready >= 0 || errno != EINTR) return ready;
  }
}

bool await_event(int fd, short event, sys::TimePoint deadline) {
  pollfd descriptor{fd, event, 0};
  return poll_until({&descriptor, 1}, deadline) > 0;
}

// 0, or errno.
int connect_one(int fd, const sockaddr* address, socklen_t size, sys::TimePoint deadline) {
  if (::connect(fd, address, size) == 0) return 0;
  // A unix socket whose queue is full has no way to say when it is no longer: EAGAIN.
  if (errno != EINPROGRESS && errno != EINTR) return errno;
  if (!await_event(fd, POLLOUT, deadline)) return ETIMEDOUT;
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
  return error;
}

sys::FileDescriptor make_socket(int family) {
  return sys::FileDescriptor(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

sys::FileDescriptor connect_unix(const std::string& path, sys::TimePoint deadline, std::string& failure) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    failure = "the path is too long for a socket";
    return {};
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  sys::FileDescriptor fd = make_socket(AF_UNIX);
  const int error =
      fd ? connect_one(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address, deadline)
         : errno;
  if (error == 0) return fd;
  failure = sentence_of(error);
  return {};
}

void set_option(int fd, int level, int name) {
  const int on = 1;
  setsockopt(fd, level, name, &on, sizeof on);
}

sys::FileDescriptor connect_tcp(const Address& where, sys::TimePoint deadline, std::string& failure) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int unknown = getaddrinfo(where.host.c_str(), std::to_string(where.port).c_str(), &hints, &list);
  if (unknown != 0) {
    failure = gai_strerror(unknown);
    return {};
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, freeaddrinfo);
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
    sys::FileDescriptor fd = make_socket(each->ai_family);
    const int error = fd ? connect_one(fd.get(), each->ai_addr, each->ai_addrlen, deadline) : errno;
    if (error == 0) {
      set_option(fd.get(), IPPROTO_TCP, TCP_NODELAY);
      set_option(fd.get(), SOL_SOCKET, SO_KEEPALIVE);
      return fd;
    }
    failure = sentence_of(error);
  }
  return {};
}

}  // namespace

Event await(int fd, sys::TimePoint deadline, int interruption) {
  std::array<pollfd, 2> descriptors{{{fd, POLLIN, 0}, {interruption, POLLIN, 0}}};
  if (poll_until(descriptors, deadline) <= 0) return Event::time_up;
  return descriptors[0].revents != 0 ? Event::readable : Event::interrupted;
}

Socket Socket::connect(const Address& address, const TlsContext* tls, sys::TimePoint deadline,
                       std::string& failure) {
  Socket socket(address.host.empty() ? connect_unix(address.path, deadline, failure)
                                     : connect_tcp(address, deadline, failure));
  if (!socket || tls == nullptr) return socket;
  socket.session_ = tls->begin(address.host);
  failure = socket.shake_hands(deadline);
  return failure.empty() ? std::move(socket) : Socket({});
}

std::string Socket::shake_hands(sys::TimePoint deadline) const {
  for (;;) {
    TlsSession::Step step = session_->shake_hands();
    Progress sent = send_bytes(session_->take(), deadline);
    if (step.is_last || !step.failure.empty()) return std::move(step.failure);
    std::string failure = sent.failure.empty() ? feed_session(deadline) : std::move(sent.failure);
    if (!failure.empty()) return failure + "; does it speak TLS there?";
  }
}

std::string Socket::feed_session(sys::TimePoint deadline) const {
  std::array<char, 4096> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  Progress received = receive_bytes(buffer, deadline);
  if (received.failure.empty()) session_->feed(std::span(buffer).first(received.bytes));
  return std::move(received.failure);
}

Event Socket::await(sys::TimePoint deadline, int interruption) const {
  for (;;) {
    if (session_ && session_->has_something()) return Event::readable;
    const Event event = redis::await(fd_.get(), deadline, interruption);
    if (!session_ || event != Event::readable) return event;
    if (!feed_session(sys::TimePoint()).empty()) return Event::readable;
  }
}

Progress Socket::send(std::string_view bytes, sys::TimePoint deadline) const {
  if (!session_) return send_bytes(bytes, deadline);
  if (Progress encrypted = session_->encrypt(bytes); !encrypted.failure.empty()) return encrypted;
  Progress sent = send_bytes(session_->take(), deadline);
  if (sent.failure.empty() || !feed_session(sys::TimePoint()).empty()) return sent;
  // Who hung up may have said why.
  std::array<char, 1> byte{};
  if (Progress last = session_->decrypt(byte); !last.failure.empty()) sent.failure = std::move(last.failure);
  return sent;
}

Progress Socket::receive(std::span<char> buffer, sys::TimePoint deadline) const {
  if (!session_) return receive_bytes(buffer, deadline);
  for (;;) {
    Progress decrypted = session_->decrypt(buffer);
    if (decrypted.bytes > 0 || !decrypted.failure.empty()) return decrypted;
    // Something that TLS itself has to answer, perhaps.
    if (Progress sent = send_bytes(session_->take(), deadline); !sent.failure.empty())
      return {0, sent.failure};
    if (std::string failure = feed_session(deadline); !failure.empty()) return {0, std::move(failure)};
  }
}

Progress Socket::send_bytes(std::string_view bytes, sys::TimePoint deadline) const {
  Progress progress;
  while (progress.bytes < bytes.size()) {
    const ssize_t sent = ::send(fd_.get(), bytes.data() + progress.bytes, bytes.size() - progress.bytes,
                                MSG_NOSIGNAL);  // a signal would end the program (C24)
    if (sent >= 0) {
      progress.bytes += static_cast<std::size_t>(sent);
    } else if (errno == EAGAIN) {
      if (!await_event(fd_.get(), POLLOUT, deadline)) return {progress.bytes, kTimeUp};
    } else if (errno != EINTR) {
      return {progress.bytes, sentence_of(errno)};
    }
  }
  return progress;
}

Progress Socket::receive_bytes(std::span<char> buffer, sys::TimePoint deadline) const {
  for (;;) {
    if (!await_event(fd_.get(), POLLIN, deadline)) return {0, kTimeUp};
    const ssize_t received = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
    if (received > 0) return {static_cast<std::size_t>(received)};
    if (received == 0) return {0, "it closed the connection"};
    if (errno != EAGAIN && errno != EINTR) return {0, sentence_of(errno)};
  }
}

}  // namespace mortise::store::redis
