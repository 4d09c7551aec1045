#include "options.hpp"

#include <CLI/CLI.hpp>
#include <sstream>

#include "key_text.hpp"
#include "mortise/open_store.hpp"

namespace inspect_locks {
namespace {

constexpr const char* kFooter =
    R"help(The view is read-only: it takes no lock, changes nothing and makes no store. Each lease is
consistent in itself; all of them together are not one moment.

Table: one line for each lock, columns at least two spaces apart, nothing is cut.
  KEY       the key, escaped: \\ \n \t \r, and \xHH for any other control character, for
            bytes that are not UTF-8, for characters that turn the direction of writing, and
            for a space that begins or ends the key or follows another space
  PID       the holder; "(dead)": it died, and the lock is free for whoever asks for it;
            "handed over": serialized or detached, the lease outlives its process
  COMMAND   the holder's command, escaped like the key
  AGE LEFT  since the grant, and until the expiry
  FENCE     the fencing token of the grant
  SLEEPERS  waiters that sleep in the kernel at this moment

JSON: list gives {"store": URL, "locks": [LOCK...]}, show gives LOCK, or null when there is
none. LOCK is {"key", "key_hex", "holder": {"pid", "command", "alive"} or null when handed
over, "age_ms", "remaining_ms", "fencing_token", "sleepers"}. "key" is the text of the table,
"key_hex" the key's exact bytes.

Exit status:
  0  done; for show: somebody holds the key
  1  show: nobody holds the key (the lease of a dead holder is shown all the same)
  2  the command line or the URL of the store is wrong
  3  the store cannot be opened or read
  4  the output cannot be written)help";

// Everything that the parser writes to.
struct Arguments {
  std::string store;
  std::string key;
  bool json = false;
  bool escaped = false;
};

// Declares the command line; returns its command `show`.
CLI::App* declare(CLI::App& app, Arguments& arguments) {
  app.set_version_flag("--version", "inspect-locks " MORTISE_VERSION);
  app.add_flag("--json", arguments.json, "Print JSON instead of a table");
  app.add_option("--store", arguments.store, "The store to look at (default: $MORTISE_STORE, else shm:)")
      ->type_name("URL");
  app.require_subcommand(0, 1);

  app.add_subcommand("list", "List every lock that is held (the default)")->fallthrough();
  CLI::App* const show = app.add_subcommand("show", "Show the lock of one key")->fallthrough();
  show->add_option("KEY", arguments.key, "The key; one that begins with '-' goes after '--'")
      ->required()
      ->type_name("");
  show->add_flag("--escaped", arguments.escaped, "KEY is escaped, as in the table and in JSON");

  app.footer(kFooter);  // last: the commands above would inherit it
  return show;
}

std::string what_to_say(const CLI::App& app, const CLI::Success& request) {
  std::ostringstream text;
  app.exit(request, text, text);
  return text.str();
}

}  // namespace

std::variant<Options, Information> parse_command_line(int argc, const char* const* argv) {
  CLI::App app("Shows who holds which of mortise's locks.", "inspect-locks");
  Arguments arguments;
  const CLI::App* const show = declare(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {
    return Information{what_to_say(app, request)};
  } catch (const CLI::ParseError& error) {
    throw std::invalid_argument(std::string(error.what()) + " (see inspect-locks --help)");
  }

  Options options;
  options.store = app.count("--store") > 0 ? arguments.store : mortise::default_store_url();
  options.json = arguments.json;
  if (show->parsed()) options.key.emplace(arguments.escaped ? unescape(arguments.key) : arguments.key);
  return options;
}

}  // namespace inspect_locks
