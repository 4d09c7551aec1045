// A pre-forking HTTP server that charges invoices, each of them once: see charge.cpp for how it uses mortise.
#include <iostream>
#include <mortise/mortise.hpp>

#include "config.hpp"
#include "http_server.hpp"
#include "invoices.hpp"
#include "ledger.hpp"
#include "routes.hpp"
#include "supervisor.hpp"

namespace prefork_server {
namespace {

void run(const Config& config) {
  const Invoices invoices = load_invoices(config.invoices);
  Ledger ledger(config.ledger);
  mortise::lock_store();  // a store that cannot be opened is better found now than at the first charge
  const ListeningSocket socket = listen_on_loopback(config.port);
  std::cout << "listening on http://127.0.0.1:" << socket.port << std::endl;

  Routes routes(invoices, ledger, {.payment = config.charge_time, .lease = config.lease_time});
  Supervisor supervisor(config.workers, [&] {
    serve(socket, [&routes](const Request& request) { return routes.answer(request); });
  });
  supervisor.run();
}

}  // namespace
}  // namespace prefork_server

int main(int argc, char** argv) {
  try {
    const auto parsed = prefork_server::parse_command_line(argc, argv);
    if (const auto* status = std::get_if<prefork_server::ExitStatus>(&parsed)) return *status;
    prefork_server::run(std::get<prefork_server::Config>(parsed));
    return EXIT_SUCCESS;
  } catch (const std::exception& error) {
    std::cerr << "prefork_server: " << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
