// The command line.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>

#include "mortise/types.hpp"

namespace inspect_locks {

struct Options {
  enum class Command {
    list,
    show,
    watch,
    top,
    stats,
    processes,
    check,
    repair,
    release,
    serve_metrics
  } command = Command::list;
  enum class Format { table, json, openmetrics } format = Format::table;
  std::string store;                     // a URL
  std::string shown_store;               // the same without a password
  std::optional<mortise::LockKey> key;   // show, watch, release, stats: which
  std::chrono::milliseconds interval{};  // watch, top: between two looks
  std::string address;                   // serve_metrics: where to listen
  std::uint16_t port = 0;
};

// What --help or --version has to say.
struct Information {
  std::string text;
};

// Throws std::invalid_argument for a command line that means nothing.
std::variant<Options, Information> parse_command_line(int argc, const char* const* argv);

}  // namespace inspect_locks
