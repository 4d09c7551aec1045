#include "stores/redis/cutting_relay.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>

namespace mortise::test {

namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

int stream_socket() {
  return ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

}  // namespace

CuttingRelay::CuttingRelay(std::uint16_t server_port)
    : server_port_(server_port), listener_(stream_socket()), limit_(std::numeric_limits<std::size_t>::max()) {
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  if (bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener_.get(), 16) != 0 ||
      getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("no port to listen on");
  port_ = ntohs(address.sin_port);
  thread_ = std::jthread([this] { run(); });
}

CuttingRelay::~CuttingRelay() {
  shutdown(listener_.get(), SHUT_RDWR);
}

// One connection after the other.
void CuttingRelay::run() const {
  for (;;) {
    const sys::FileDescriptor store(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!store) return;
    relay(store.get());
  }
}

void CuttingRelay::relay(int store) const {
  const sys::FileDescriptor server(stream_socket());
  const sockaddr_in address = loopback(server_port_);
  if (connect(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return;
  std::array<char, 4096> buffer{};
  for (std::size_t left = limit_; left > 0;) {
    std::array<pollfd, 3> files{
        {{store, POLLIN, 0}, {server.get(), POLLIN, 0}, {listener_.get(), POLLIN | POLLHUP, 0}}};
    poll(files.data(), files.size(), -1);
    if (files[2].revents != 0) return;  // the store has begun anew, or the test is over
    const bool is_request = files[0].revents != 0;
    const int from = is_request ? store : server.get();
    const std::size_t room = is_request ? buffer.size() : std::min(buffer.size(), left);
    const ssize_t size = recv(from, buffer.data(), room, 0);
    if (size <= 0) return;
    send(is_request ? server.get() : store, buffer.data(), static_cast<std::size_t>(size), MSG_NOSIGNAL);
    if (!is_request) left -= static_cast<std::size_t>(size);
  }
}

}  // namespace mortise::test
