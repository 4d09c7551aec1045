#include "serve_metrics.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>

#include "metrics.hpp"
#include "mortise/inspect.hpp"
#include "text/key_text.hpp"

namespace inspect_locks {
namespace {

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {
    if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "cannot listen");
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() { close(descriptor_); }
  [[nodiscard]] int get() const { return descriptor_; }

 private:
  int descriptor_;
};

void must(int result, const std::string& what) {
  if (result != 0) throw std::system_error(errno, std::generic_category(), what);
}

// Returns the port: the system's choice when 0 was asked for.
std::uint16_t listen_at(const Socket& server, const Options& options) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(options.port);
  if (inet_pton(AF_INET, options.address.c_str(), &address.sin_addr) != 1)
    throw std::invalid_argument("not an IPv4 address: " + text::escape(options.address));
  const int yes = 1;
  setsockopt(server.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  const std::string where = "cannot listen at " + options.address + ":" + std::to_string(options.port);
  must(bind(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), where);
  must(listen(server.get(), SOMAXCONN), where);
  socklen_t size = sizeof(address);
  must(getsockname(server.get(), reinterpret_cast<sockaddr*>(&address), &size), where);
  return ntohs(address.sin_port);
}

std::string response(std::string_view status, std::string_view type, std::string_view body) {
  std::string text = "HTTP/1.1 ";
  text.append(status).append("\r\nContent-Type: ").append(type);
  text.append("\r\nContent-Length: ").append(std::to_string(body.size()));
  text.append("\r\nConnection: close\r\n\r\n").append(body);
  return text;
}

// The store is opened for each scrape: it may be made, removed or replaced in between.
std::string answer(std::string_view request, const Options& options) {
  constexpr std::string_view kPlain = "text/plain; charset=utf-8";
  if (!request.starts_with("GET /metrics ") && !request.starts_with("GET /metrics?"))
    return response("404 Not Found", kPlain, "There is GET /metrics.\n");
  try {
    return response("200 OK", "application/openmetrics-text; version=1.0.0; charset=utf-8",
                    render_metrics(options.shown_store, *mortise::open_view(options.store)));
  } catch (const mortise::StoreError& error) {
    return response("503 Service Unavailable", kPlain, std::string(error.what()) + "\n");
  }
}

// A client that says nothing or does not listen is left after a moment.
void serve(const Socket& client, const Options& options) {
  const timeval patience{2, 0};
  setsockopt(client.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  setsockopt(client.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  constexpr std::size_t kLongest = 16384;
  std::string request;
  std::array<char, 2048> piece{};
  while (request.find("\r\n\r\n") == std::string::npos && request.size() < kLongest) {
    const ssize_t size = recv(client.get(), piece.data(), piece.size(), 0);
    if (size <= 0) return;
    request.append(piece.data(), static_cast<std::size_t>(size));
  }
  const std::string text = answer(request, options);
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t size = send(client.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (size <= 0) return;
    sent += static_cast<std::size_t>(size);
  }
}

}  // namespace

void serve_metrics(const Options& options) {
  const Socket server(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const std::uint16_t port = listen_at(server, options);
  std::printf("listening at http://%s:%u/metrics\n", options.address.c_str(), unsigned{port});
  std::fflush(stdout);
  for (;;) {
    const int client = accept4(server.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (client >= 0) {
      serve(Socket(client), options);
    } else if (errno != EINTR && errno != ECONNABORTED) {
      throw std::system_error(errno, std::generic_category(), "cannot take a connection");
    }
  }
}

}  // namespace inspect_locks
