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
            "handed over": serialized or detached, the lease outlives its process
  COMMAND   the holder's command, escaped like the key
  AGE LEFT  since the grant, and until the expiry
  FENCE     the fencing token of the grant
  SLEEPERS  waiters that sleep in the kernel at this moment

JSON: list gives {"store": URL, "locks": [LOCK...]}, show gives LOCK, or null when there is
none. LOCK is {"key", "key_hex", "holder": {"pid", "command", "alive"} or null when handed
over, "age_ms", "remaining_ms", "fencing_token", "sleepers"}. "key" is the text of the table,
"key_hex" the key's exact bytes. check gives {"store": URL, "sound": no damage (is left),
"findings": [{"severity": "damage" or "note", "sentence"}...], "repairs": [SENTENCE...]}.

Exit status:
  0  done; for show: somebody holds the key; for check: no damage, or none is left
  1  show: nobody holds the key (the lease of a dead holder is shown all the same)
     check: there is damage
  2  the command line or the URL of the store is wrong
  3  the store cannot be opened or read, or its header is damaged; --repair: it is in use
  4  the output cannot be written)help";

// Everything that the parser writes to.
struct Arguments {
  std::string store;
  std::string key;
  bool json = false;
  bool escaped = false;
  bool repair = false;
};

// The commands that differ from the default.
struct Commands {
  const CLI::App* show;
  const CLI::App* check;
};

// Declares the command line.
Commands declare(CLI::App& app, Arguments& arguments) {
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

  CLI::App* const check = app.add_subcommand("check", "Look for damage in the whole store")->fallthrough();
  check->add_flag("--repair", arguments.repair, "Mend it; no process may be attached");

  app.footer(kFooter);  // last: the commands above would inherit it
  return {show, check};
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
  options.json = arguments.json;
  if (commands.show->parsed()) {
    options.command = Options::Command::show;
    options.key.emplace(arguments.escaped ? unescape(arguments.key) : arguments.key);
  } else if (commands.check->parsed()) {
    options.command = arguments.repair ? Options::Command::repair : Options::Command::check;
  }
  return options;
}

}  // namespace inspect_locks
