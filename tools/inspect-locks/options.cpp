#include "options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <sstream>
#include <string_view>
#include <utility>

#include "mortise/open_store.hpp"
#include "text/key_text.hpp"

namespace inspect_locks {
namespace {

using Command = Options::Command;
using Format = Options::Format;

constexpr const char* kFooter =
    R"help(Looking takes no lock, changes nothing and makes no store. Each lease is consistent in itself;
all of them together are not one moment.

check looks at every byte of the table, which may be in use. A line "damage: ..." is something
that using the store never leads to; a line "note: ..." is what a process left that died or was
stopped, and the next who comes by repairs it. check --repair mends what is damaged, while no
process is attached: what cannot be right is wiped, leases that were handed over stay, and no
fencing number falls. Lines "repaired: ..." say what it did.

Table: one line for each lock, columns at least two spaces apart, nothing is cut.
  KEY       the key, escaped: \\ \n \t \r, and \xHH for any other control character, for
            bytes that are not UTF-8, for characters that turn the direction of writing, and
            for a space that begins or ends the key or follows another space
  PID       the holder; "(dead)": it died, and the lock is free for whoever asks for it;
            "handed over": serialized or detached, the lease outlives its process;
            "-" here and elsewhere: the store does not know
  COMMAND   the holder's command, escaped like the key
  AGE LEFT  since the grant, and until the expiry
  FENCE     the fencing token of the grant
  SLEEPERS  waiters that sleep in the kernel at this moment

JSON: {"store": URL, "locks": [LOCK...]}, where LOCK has "key" (the text of the table),
"key_hex" (its exact bytes), "holder", "handed_over", "age_ms", "remaining_ms",
"fencing_token", "sleepers", "counters"; null is what the store does not know. For the other commands see
inspect-locks(1) and the schema beside it.

Exit status:
  0  done; for show: somebody holds the key; for check: no damage, or none is left;
     for release: its lease was ended
  1  show, release: nobody holds the key (the lease of a dead holder is shown all the same)
     check: there is damage
  2  the command line or the URL of the store is wrong
  3  the store cannot be opened or read, or its header is damaged, or it cannot do that;
     --repair: it is in use
  4  the output cannot be written)help";

// Everything that the parser writes to.
struct Arguments {
  std::string store;
  std::string key;
  std::string format = "table";
  std::string listen;
  double interval = 0;
  bool json = false;
  bool escaped = false;
  bool repair = false;
  bool force = false;
};

using Commands = std::vector<std::pair<const CLI::App*, Command>>;

CLI::Option* take_key(CLI::App* command, Arguments& arguments, const std::string& description) {
  command->add_flag("--escaped", arguments.escaped, "KEY is escaped, as in the table and in JSON");
  return command->add_option("KEY", arguments.key, description)->type_name("");
}

void want_key(CLI::App* command, Arguments& arguments) {
  take_key(command, arguments, "The key; one that begins with '-' goes after '--'")->required();
}

void want_interval(CLI::App* command, Arguments& arguments) {
  command->add_option("--interval", arguments.interval, "Seconds between two looks")
      ->check(CLI::Range(0.001, 3600.0))
      ->type_name("SECONDS");
}

// Declares the command line.
Commands declare(CLI::App& app, Arguments& arguments) {
  app.set_version_flag("--version", "inspect-locks " MORTISE_VERSION);
  app.add_flag("--json", arguments.json, "The same as --format=json");
  app.add_option("--format", arguments.format,
                 "table, json, or openmetrics (of list and stats: the whole store for Prometheus)")
      ->check(CLI::IsMember({"table", "json", "openmetrics"}))
      ->type_name("");
  app.add_option("--store", arguments.store, "The store to look at (default: $MORTISE_STORE, else shm:)")
      ->type_name("URL");
  app.require_subcommand(0, 1);

  Commands commands;
  const auto add = [&](Command command, const char* name, const char* description) {
    CLI::App* const added = app.add_subcommand(name, description)->fallthrough();
    commands.emplace_back(added, command);
    return added;
  };
  add(Command::list, "list", "List every lock that is held (the default)");
  want_key(add(Command::show, "show", "Show the lock of one key"), arguments);
  CLI::App* const watch = add(Command::watch, "watch", "Tell of every change of one key, until interrupted");
  want_key(watch, arguments);
  want_interval(watch, arguments);
  want_interval(add(Command::top, "top", "Show the locks on a screen that keeps itself up to date"),
                arguments);
  take_key(add(Command::stats, "stats", "How full the store is, and what was counted in it"), arguments,
           "Only what was counted of this key");
  add(Command::processes, "processes", "List the processes that use the store, and how they are");
  CLI::App* const check = add(Command::check, "check", "Look for damage in the whole store");
  check->add_flag("--repair", arguments.repair, "Mend it; no process may be attached");
  CLI::App* const release = add(Command::release, "release", "End the lease of a key, whoever holds it");
  want_key(release, arguments);
  release->add_flag("--force", arguments.force, "Yes, although its holder believes that it has the lock")
      ->required();
  add(Command::serve_metrics, "serve-metrics", "Answer the scrapes of Prometheus, until interrupted")
      ->add_option("--listen", arguments.listen, "Where (127.0.0.1:9877)")
      ->type_name("ADDRESS:PORT");

  app.footer(kFooter);  // last: the commands above would inherit it
  return commands;
}

std::string what_to_say(const CLI::App& app, const CLI::Success& request) {
  std::ostringstream text;
  app.exit(request, text, text);
  return text.str();
}

// redis://user:secret@host/ becomes redis://user:***@host/.
std::string without_password(const std::string& url) {
  const std::size_t begin = url.find("://");
  if (begin == std::string::npos) return url;
  const std::size_t authority = begin + 3;
  const std::size_t end = std::min(url.find_first_of("/?#", authority), url.size());
  const std::size_t at = url.rfind('@', end);
  const std::size_t colon = url.find(':', authority);
  if (at == std::string::npos || at < authority || colon > at) return url;
  return url.substr(0, colon + 1) + "***" + url.substr(at);
}

Format format_of(const Arguments& arguments, Command command) {
  if (arguments.json || arguments.format == "json") return Format::json;
  if (arguments.format != "openmetrics") return Format::table;
  if (command != Command::list && command != Command::stats)
    throw std::invalid_argument("only list and stats have the format openmetrics");
  return Format::openmetrics;
}

void listen_at(Options& options, const std::string& text) {
  const std::string where = text.empty() ? "127.0.0.1:9877" : text;
  const std::size_t colon = where.rfind(':');
  const char* const end = where.data() + where.size();
  const auto [parsed, error] = std::from_chars(where.data() + colon + 1, end, options.port);
  if (colon == std::string::npos || error != std::errc() || parsed != end)
    throw std::invalid_argument("not ADDRESS:PORT: " + text::escape(where));
  options.address = where.substr(0, colon);
}

}  // namespace

std::variant<Options, Information> parse_command_line(int argc, const char* const* argv) {
  CLI::App app("Shows who holds which of mortise's locks.", "inspect-locks");
  Arguments arguments;
  const Commands commands = declare(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {
    return Information{what_to_say(app, request)};
  } catch (const CLI::ParseError& error) {
    throw std::invalid_argument(std::string(error.what()) + " (see inspect-locks --help)");
  }

  Options options;
  options.store = app.count("--store") > 0 ? arguments.store : mortise::default_store_url();
  options.shown_store = without_password(options.store);
  options.interval = std::chrono::milliseconds(static_cast<long>(arguments.interval * 1000));
  for (const auto& [parser, command] : commands) {
    if (!parser->parsed()) continue;
    options.command = command == Command::check && arguments.repair ? Command::repair : command;
    if (const CLI::Option* key = parser->get_option_no_throw("KEY"); key != nullptr && key->count() > 0)
      options.key.emplace(arguments.escaped ? text::unescape(arguments.key) : arguments.key);
  }
  options.format = format_of(arguments, options.command);
  if (options.format == Format::openmetrics && options.key)
    throw std::invalid_argument("openmetrics is of the whole store, not of one key");
  if (options.command == Command::serve_metrics) listen_at(options, arguments.listen);
  return options;
}

}  // namespace inspect_locks
