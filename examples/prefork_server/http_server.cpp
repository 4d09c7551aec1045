#include "http_server.hpp"

#include <sys/signalfd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/beast/core/bind_handler.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <cerrno>
#include <csignal>
#include <memory>
#include <system_error>

namespace prefork_server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using beast::error_code;

constexpr std::chrono::seconds kNetworkTimeout(5);
constexpr std::size_t kMaxBodyBytes = 4096;

// One connection, one request. A connection that stays open for more would tie its client to one worker,
// however busy.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, const Handler& handler) : stream_(std::move(socket)), handler_(handler) {
    parser_.body_limit(kMaxBodyBytes);
  }

  void start() {
    stream_.expires_after(kNetworkTimeout);
    http::async_read(stream_, buffer_, parser_,
                     beast::bind_front_handler(&Session::on_read, shared_from_this()));
  }

 private:
  void on_read(error_code error, std::size_t) {
    if (!error) {
      answer(handler_(parser_.get()));
    } else if (is_bad_request(error)) {
      answer(Response(http::status::bad_request, 11, error.message() + '\n'));
    }
  }

  static bool is_bad_request(error_code error) {
    return error != http::error::end_of_stream &&
           error.category() == make_error_code(http::error{}).category();
  }

  void answer(Response response) {
    response_ = std::move(response);
    response_.keep_alive(false);
    response_.prepare_payload();
    stream_.expires_after(kNetworkTimeout);
    http::async_write(stream_, response_,
                      beast::bind_front_handler(&Session::on_written, shared_from_this()));
  }

  void on_written(error_code, std::size_t) {
    // The client may be gone already, and that is no concern of ours.
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  }

  beast::tcp_stream stream_;
  const Handler& handler_;
  beast::flat_buffer buffer_;
  http::request_parser<http::string_body> parser_;
  Response response_;
};

void accept_next(tcp::acceptor& acceptor, const Handler& handler) {
  acceptor.async_accept([&acceptor, &handler](error_code error, tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (!error) std::make_shared<Session>(std::move(socket), handler)->start();
    accept_next(acceptor, handler);
  });
}

int descriptor_that_reports(int signal) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, signal);
  const int descriptor = signalfd(-1, &signals, SFD_CLOEXEC);
  if (descriptor < 0) throw std::system_error(errno, std::generic_category(), "signalfd");
  return descriptor;
}

}  // namespace

ListeningSocket listen_on_loopback(std::uint16_t port) {
  asio::io_context io;
  tcp::acceptor acceptor(io, {asio::ip::address_v4::loopback(), port});
  const std::uint16_t chosen = acceptor.local_endpoint().port();
  return {acceptor.release(), chosen};
}

void serve(const ListeningSocket& socket, const Handler& handler) {
  asio::io_context io(1);
  tcp::acceptor acceptor(io, tcp::v4(), socket.descriptor);
  accept_next(acceptor, handler);

  // Without an acceptor, run() returns as soon as the last session is over.
  asio::posix::stream_descriptor termination(io, descriptor_that_reports(SIGTERM));
  termination.async_wait(asio::posix::stream_descriptor::wait_read,
                         [&acceptor](error_code) { acceptor.close(); });

  io.run();
}

}  // namespace prefork_server
