#include "options.hpp"

#include <getopt.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string_view>

#include "mortise/open_store.hpp"
#include "text/key_text.hpp"

namespace with_lock {
namespace {

constexpr const char* kHelp = R"help(Usage: with-lock [options] KEY [--] COMMAND [ARG...]
       with-lock [options] KEY -c COMMAND-LINE
Runs a command while it holds the lock of a key.

  -n, --nonblock                 do not wait for the key
  -w, --wait SECONDS             wait that long at most; without -n and -w: for ever
  -E, --conflict-exit-code N     the exit status when the key stays held (1)
  -c, --command COMMAND-LINE     run COMMAND-LINE with the shell
      --ttl TIME                 how long the lease lives unless it is renewed (30s); it is
                                 renewed while the command runs
      --store URL                the store (default: $MORTISE_STORE, else shm:)
      --on-lost=kill|warn        what to do when the lease is lost: end the command's process
                                 group (the default), or say so and let it go on
      --handover                 give the command the lease, in $MORTISE_LOCK, to extend or
                                 release it; then --on-lost=warn is the default
      --escaped                  KEY is escaped, as inspect-locks prints it
      --verbose                  say what is done, on standard error
  -h, --help
  -V, --version

A TIME is a number with ms, s, m, h or d behind it; seconds without. The lock is released when the
command ends; what it left in the background does not hold it. The command has its own process group,
to which signals are forwarded, and the fencing number of the grant in $MORTISE_FENCING_TOKEN.

Exit status: the command's, 128 + N when signal N ended it (or with-lock while it waited), or
  1    the key is held by another (see -E)
  64   the command line is wrong
  69   the store failed; the command was not started
  71   the system failed
  75   the lease was lost while the command ran
  126  the command cannot be executed
  127  the command is not found
See with-lock(1).
)help";

[[noreturn]] void refuse(const std::string& sentence) {
  throw std::invalid_argument(sentence + " (see with-lock --help)");
}

double seconds_in(std::string_view unit) {
  if (unit.empty() || unit == "s") return 1;
  if (unit == "ms") return 0.001;
  if (unit == "m") return 60;
  if (unit == "h") return 3600;
  if (unit == "d") return 86400;
  return std::nan("");
}

std::chrono::duration<double> duration_of(const char* text) {
  char* end = nullptr;
  const double number = std::strtod(text, &end);
  const double seconds = number * seconds_in(end);
  if (end == text || !std::isfinite(seconds) || seconds < 0)
    refuse(std::string("not a time: '") + text + "'");
  return std::chrono::duration<double>(seconds);
}

int exit_code_of(const char* text) {
  constexpr long kGreatest = 255;
  char* end = nullptr;
  const long number = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || number < 0 || number > kGreatest)
    refuse(std::string("not an exit status: '") + text + "'");
  return static_cast<int>(number);
}

OnLost on_lost_of(std::string_view text) {
  if (text == "kill") return OnLost::kill;
  if (text == "warn") return OnLost::warn;
  refuse("--on-lost is kill or warn");
}

enum LongOnly : int { kTtl = 256, kStore, kOnLost, kHandover, kEscaped, kVerbose };

constexpr std::array<option, 13> kOptions = {{
    {"nonblock", no_argument, nullptr, 'n'},
    {"wait", required_argument, nullptr, 'w'},
    {"conflict-exit-code", required_argument, nullptr, 'E'},
    {"command", required_argument, nullptr, 'c'},
    {"ttl", required_argument, nullptr, kTtl},
    {"store", required_argument, nullptr, kStore},
    {"on-lost", required_argument, nullptr, kOnLost},
    {"handover", no_argument, nullptr, kHandover},
    {"escaped", no_argument, nullptr, kEscaped},
    {"verbose", no_argument, nullptr, kVerbose},
    {"help", no_argument, nullptr, 'h'},
    {"version", no_argument, nullptr, 'V'},
    {},
}};

// What the options said, before there is a key to make Options with.
struct Parsed {
  std::string store;
  std::optional<std::string> command_line;
  std::optional<mortise::WaitTime> wait;
  std::optional<OnLost> on_lost;
  mortise::Ttl ttl = std::chrono::seconds(30);
  int conflict_exit_code = kHeldByAnother;
  bool store_is_given = false;
  bool handover = false;
  bool escaped = false;
  bool verbose = false;
  bool wants_help = false;
  bool wants_version = false;
};

void take_option(Parsed& parsed, int letter) {
  switch (letter) {
    case 'n':
      parsed.wait = std::chrono::seconds(0);
      return;
    case 'w':
      parsed.wait = duration_of(optarg);
      return;
    case 'E':
      parsed.conflict_exit_code = exit_code_of(optarg);
      return;
    case 'c':
      parsed.command_line = optarg;
      return;
    case kTtl:
      parsed.ttl = duration_of(optarg);
      return;
    case kStore:
      parsed.store = optarg;
      parsed.store_is_given = true;
      return;
    case kOnLost:
      parsed.on_lost = on_lost_of(optarg);
      return;
    case kHandover:
      parsed.handover = true;
      return;
    case kEscaped:
      parsed.escaped = true;
      return;
    case kVerbose:
      parsed.verbose = true;
      return;
    case 'h':
      parsed.wants_help = true;
      return;
    case 'V':
      parsed.wants_version = true;
      return;
    default:
      refuse(optopt < kTtl && optopt != 0 ? std::string("what is -") + static_cast<char>(optopt) + "?"
                                          : "there is an option that it does not know, or without its value");
  }
}

Parsed take_options(int argc, char** argv) {
  Parsed parsed;
  opterr = 0;
  for (;;) {
    // "+": the options end where the key begins.
    const int letter = getopt_long(argc, argv, "+:nw:E:c:hV", kOptions.data(), nullptr);
    if (letter == -1) return parsed;
    take_option(parsed, letter);
  }
}

// What follows the key: [--] COMMAND [ARG...], or -c COMMAND-LINE as flock(1) has it.
std::vector<std::string> command_of(std::span<char*> words, std::optional<std::string> command_line) {
  if (words.size() == 2 && std::string_view(words[0]) == "-c" && !command_line)
    command_line = words[1];
  else if (command_line && !words.empty())
    refuse("there is a command beside the one of -c");
  if (command_line) {
    const char* const shell = std::getenv("SHELL");
    return {shell != nullptr && *shell != '\0' ? shell : "/bin/sh", "-c", *command_line};
  }
  if (!words.empty() && std::string_view(words[0]) == "--") words = words.subspan(1);
  if (words.empty()) refuse("there is no command");
  return {words.begin(), words.end()};
}

}  // namespace

std::variant<Options, Information> parse_command_line(int argc, char** argv) {
  Parsed parsed = take_options(argc, argv);
  if (parsed.wants_help) return Information{kHelp};
  if (parsed.wants_version) return Information{"with-lock " MORTISE_VERSION "\n"};
  const std::span<char*> words(argv + optind, argv + argc);
  if (words.empty()) refuse("there is no key");
  const std::string key = parsed.escaped ? text::unescape(words[0]) : words[0];
  return Options{key,
                 command_of(words.subspan(1), std::move(parsed.command_line)),
                 parsed.store_is_given ? parsed.store : mortise::default_store_url(),
                 parsed.store_is_given,
                 parsed.ttl,
                 parsed.wait,
                 parsed.conflict_exit_code,
                 parsed.on_lost.value_or(parsed.handover ? OnLost::warn : OnLost::kill),
                 parsed.handover,
                 parsed.verbose};
}

}  // namespace with_lock
