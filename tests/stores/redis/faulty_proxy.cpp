#include "stores/redis/faulty_proxy.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <vector>

namespace mortise::test {

namespace {

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  return address;
}

sys::FileDescriptor make_socket() {
  return sys::FileDescriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

sys::FileDescriptor listen_at(const std::string& path) {
  sys::FileDescriptor fd = make_socket();
  const sockaddr_un address = address_of(path);
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(fd.get(), 64) != 0)
    throw std::runtime_error("the proxy cannot listen");
  return fd;
}

// None when nobody listens there.
sys::FileDescriptor connect_to(const std::string& path) {
  sys::FileDescriptor fd = make_socket();
  const sockaddr_un address = address_of(path);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fd.reset();
  return fd;
}

// Empty: the other end is gone.
std::string receive_some(int fd) {
  std::array<char, 16384> buffer;
  const ssize_t size = recv(fd, buffer.data(), buffer.size(), 0);
  return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

void send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

// No word of ours begins with the "*" that begins a command.
std::size_t commands_in(std::string_view bytes) {
  std::size_t count = bytes.starts_with('*') ? 1 : 0;
  for (std::size_t at = 0; (at = bytes.find("\n*", at)) != std::string_view::npos; ++at) ++count;
  return count;
}

}  // namespace

FaultyProxy::FaultyProxy(std::string server_socket)
    : server_socket_(std::move(server_socket)),
      listener_(listen_at(directory_.file("proxy"))),
      wake_(eventfd(0, EFD_CLOEXEC)),
      thread_([this] { run(); }) {}

FaultyProxy::~FaultyProxy() {
  is_done_ = true;
  const std::uint64_t one = 1;
  std::ignore = write(wake_.get(), &one, sizeof one);
}

void FaultyProxy::inject(Fault fault) {
  const std::lock_guard guard(mutex_);
  fault_ = std::move(fault);
  for (Link& link : links_) {
    link.requested = link.replied = 0;
    if (fault_.kind == Fault::Kind::refuse)
      shutdown(link.store.get(), SHUT_RDWR);  // its end is seen by run()
  }
}

void FaultyProxy::run() {
  while (!is_done_) {
    std::vector<pollfd> descriptors = what_to_watch();
    poll(descriptors.data(), descriptors.size(), -1);
    const std::lock_guard guard(mutex_);
    std::size_t next = 2;
    for (Link& link : links_) {
      const bool store_speaks = descriptors[next++].revents != 0;
      const bool server_speaks = descriptors[next++].revents != 0;
      if (store_speaks) pass_request(link);
      if (server_speaks && !link.is_over) pass_reply(link);
    }
    links_.remove_if([](const Link& link) { return link.is_over; });
    if (descriptors[1].revents != 0) accept_one();
  }
}

std::vector<pollfd> FaultyProxy::what_to_watch() {
  const std::lock_guard guard(mutex_);
  std::vector<pollfd> descriptors{{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
  for (const Link& link : links_) {
    descriptors.push_back({link.store.get(), POLLIN, 0});
    descriptors.push_back({link.server.get(), POLLIN, 0});
  }
  return descriptors;
}

void FaultyProxy::accept_one() {
  sys::FileDescriptor store(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  sys::FileDescriptor server = connect_to(server_socket_);
  if (fault_.kind == Fault::Kind::refuse && fault_.times > 0) {
    --fault_.times;
    return;
  }
  if (!server && fault_.kind != Fault::Kind::answer) return;
  links_.push_back({std::move(store), std::move(server)});
}

void FaultyProxy::end(Link& link) {
  link.is_over = true;
  if (--fault_.times == 0) fault_ = {};
}

void FaultyProxy::pass_request(Link& link) {
  const std::string bytes = receive_some(link.store.get());
  if (bytes.empty()) {
    link.is_over = true;
    return;
  }
  switch (fault_.kind) {
    case Fault::Kind::swallow_requests:
      return;
    case Fault::Kind::answer:
      for (std::size_t i = 0; i < commands_in(bytes); ++i) send_all(link.store.get(), fault_.text);
      return;
    default:
      pass_until_cut(link, bytes, link.server.get(), link.requested,
                     fault_.kind == Fault::Kind::cut_requests);
  }
}

void FaultyProxy::pass_reply(Link& link) {
  const std::string bytes = receive_some(link.server.get());
  if (bytes.empty()) {
    link.is_over = true;
  } else if (fault_.kind != Fault::Kind::swallow_replies) {
    pass_until_cut(link, bytes, link.store.get(), link.replied, fault_.kind == Fault::Kind::cut_replies);
  }
}

void FaultyProxy::pass_until_cut(Link& link, std::string_view bytes, int to, std::size_t& passed,
                                 bool is_cut) {
  const std::size_t room = is_cut ? fault_.bytes - std::min(fault_.bytes, passed) : bytes.size();
  const std::size_t size = std::min(bytes.size(), room);
  send_all(to, bytes.substr(0, size));
  passed += size;
  if (is_cut && passed >= fault_.bytes) end(link);
}

}  // namespace mortise::test
