// What the command line can say.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <variant>

namespace prefork_server {

struct Config {
  std::uint16_t port = 0;
  unsigned workers = 4;
  std::string invoices;
  std::string ledger;
  std::chrono::milliseconds charge_time{20};
  std::chrono::milliseconds lease_time{30'000};
};

using ExitStatus = int;

// When it has printed the help, or what is wrong, there is an exit status instead.
std::variant<Config, ExitStatus> parse_command_line(int argc, const char* const* argv);

}  // namespace prefork_server
