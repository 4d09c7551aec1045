#include "stores/sql/cutting_proxy.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <stdexcept>

namespace mortise::test {

namespace {

constexpr int kTick = 20;  // ms

sockaddr_un address_in(const std::string& directory) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = directory + "/.s.PGSQL.5432";
  if (path.size() >= sizeof(address.sun_path)) throw std::runtime_error("the path is too long for a socket");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

const sockaddr* generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

// False: the end.
bool pass_on(int from, int to, bool is_lost) {
  std::array<char, 65536> data{};
  const ssize_t length = read(from, data.data(), data.size());
  if (length <= 0) return false;
  return is_lost || send(to, data.data(), static_cast<std::size_t>(length), MSG_NOSIGNAL) == length;
}

bool is_readable(const pollfd& file) {
  return (file.revents & (POLLIN | POLLHUP | POLLERR)) != 0;
}

}  // namespace

CuttingProxy::CuttingProxy(const std::string& directory, const std::string& server_directory)
    : server_(server_directory), listening_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const sockaddr_un address = address_in(directory);
  if (bind(listening_, generic(address), sizeof(address)) != 0 || listen(listening_, 100) != 0)
    throw std::runtime_error("cannot listen");
  threads_.emplace_back([this] { accept_all(); });
}

CuttingProxy::~CuttingProxy() {
  is_over_ = true;
  threads_.front().join();  // no others are made after it
  threads_.pop_front();
  for (std::thread& thread : threads_) thread.join();
  close(listening_);
}

void CuttingProxy::accept_all() {
  while (!is_over_) {
    pollfd file{listening_, POLLIN, 0};
    if (poll(&file, 1, kTick) <= 0) continue;
    const int client = accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client >= 0) threads_.emplace_back([this, client] { serve(client); });
  }
}

void CuttingProxy::serve(int client) {
  const int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = address_in(server_);
  bool is_open = connect(server, generic(address), sizeof(address)) == 0;
  bool loses_answer = false;
  while (is_open && !is_over_) {
    std::array<pollfd, 2> files = {{{client, POLLIN, 0}, {server, POLLIN, 0}}};
    if (poll(files.data(), files.size(), kTick) <= 0) continue;
    const bool is_swallowed = mode_ == Mode::swallow;
    if (is_readable(files[0])) {
      Mode cut = Mode::cut_requests;
      if (mode_.compare_exchange_strong(cut, Mode::forward)) break;
      cut = Mode::cut_answers;
      loses_answer = loses_answer || mode_.compare_exchange_strong(cut, Mode::forward);
      is_open = pass_on(client, server, is_swallowed);
    }
    if (is_open && is_readable(files[1])) is_open = !loses_answer && pass_on(server, client, is_swallowed);
  }
  close(client);
  close(server);
}

}  // namespace mortise::test
