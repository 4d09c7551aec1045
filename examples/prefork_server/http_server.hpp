// HTTP of one worker. It knows nothing of invoices.
#pragma once

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstdint>
#include <functional>

namespace prefork_server {

using Request = boost::beast::http::request<boost::beast::http::string_body>;
using Response = boost::beast::http::response<boost::beast::http::string_body>;
using Handler = std::function<Response(const Request&)>;

// A socket that forked workers inherit, to accept from it all of them.
struct ListeningSocket {
  int descriptor;
  std::uint16_t port;
};

// On the loopback interface; port 0: the kernel chooses one. Throws boost::system::system_error.
ListeningSocket listen_on_loopback(std::uint16_t port);

// Accepts and answers, one request a connection, until SIGTERM; then finishes the requests that it has
// accepted. SIGTERM must be blocked.
void serve(const ListeningSocket& socket, const Handler& handler);

}  // namespace prefork_server
