// The command line.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <variant>

#include "mortise/types.hpp"

namespace inspect_locks {

struct Options {
  enum class Command { list, show, check, repair } command = Command::list;
  std::string store;                    // a URL
  std::optional<mortise::LockKey> key;  // show: which
  bool json = false;
};

// What --help or --version has to say.
struct Information {
  std::string text;
};

// Throws std::invalid_argument for a command line that means nothing.
std::variant<Options, Information> parse_command_line(int argc, const char* const* argv);

}  // namespace inspect_locks
