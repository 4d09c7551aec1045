// The command line.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "exit_codes.hpp"
#include "mortise/types.hpp"

namespace with_lock {

enum class OnLost {
  kill,  // end the command before somebody else can hold the key
  warn,  // say so, and let it go on
};

struct Options {
  mortise::LockKey key;
  std::vector<std::string> command;
  std::string store;  // a URL
  bool store_is_given = false;
  mortise::Ttl ttl;
  std::optional<mortise::WaitTime> wait;  // nullopt: for ever
  int conflict_exit_code = kHeldByAnother;
  OnLost on_lost = OnLost::kill;
  bool handover = false;
  bool verbose = false;
};

// What --help or --version has to say.
struct Information {
  std::string text;
};

// Throws std::invalid_argument for a command line that means nothing.
std::variant<Options, Information> parse_command_line(int argc, char** argv);

}  // namespace with_lock
