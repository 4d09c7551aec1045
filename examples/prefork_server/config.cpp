#include "config.hpp"

#include <CLI/CLI.hpp>

namespace prefork_server {
namespace {

constexpr long kOneDay = 24L * 60 * 60 * 1000;

void declare_milliseconds(CLI::App& app, const std::string& name, std::chrono::milliseconds& value,
                          long minimum, const std::string& description) {
  app.add_option_function<long>(
         name, [&value](long count) { value = std::chrono::milliseconds(count); }, description)
      ->type_name("MS")
      ->check(CLI::Range(minimum, kOneDay))
      ->default_str(std::to_string(value.count()));
}

void declare_options(CLI::App& app, Config& config) {
  app.footer("The locks are kept in the store that MORTISE_STORE names; without it, in shared memory.");
  app.add_option("--invoices", config.invoices, "CSV of what may be charged: id,customer,amount,currency")
      ->type_name("FILE")
      ->required();
  app.add_option("--ledger", config.ledger, "Where charges are written down, one line each")
      ->type_name("FILE")
      ->required();
  app.add_option("--port", config.port, "Port on the loopback interface; 0: the kernel chooses a free one")
      ->capture_default_str();
  app.add_option("--workers", config.workers, "Worker processes")
      ->check(CLI::Range(1U, 256U))
      ->capture_default_str();
  declare_milliseconds(app, "--charge-time", config.charge_time, 0, "How long a payment takes");
  declare_milliseconds(app, "--lease-time", config.lease_time, 1,
                       "How long a worker that hangs may keep others from charging its invoice");
}

}  // namespace

std::variant<Config, ExitStatus> parse_command_line(int argc, const char* const* argv) {
  CLI::App app("Charges invoices over HTTP, each of them once: POST /charge/ID.");
  Config config;
  declare_options(app, config);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
  return config;
}

}  // namespace prefork_server
