// inspect-locks: who holds what.
#include <locale.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <variant>
#include <vector>

#include "findings.hpp"
#include "json.hpp"
#include "key_text.hpp"
#include "mortise/inspect.hpp"
#include "options.hpp"
#include "table.hpp"

namespace inspect_locks {
namespace {

enum ExitCode : int {
  kDone = 0,
  kNobodyHoldsIt = 1,
  kDamaged = 1,
  kUsage = 2,
  kStoreFailed = 3,
  kOutputFailed = 4
};

struct Answer {
  std::string text;
  ExitCode exit_code = kDone;
};

void complain(const std::string& sentence) {
  std::cerr << "inspect-locks: " << sentence << '\n';
}

Answer list(const mortise::StoreView& view, const Options& options) {
  const std::vector<mortise::LeaseInfo> leases = view.leases();
  return {options.json ? render_json(options.store, leases) : render_table(leases)};
}

// A dead holder's lease may still be there to be seen, but the lock is free: the exit code says what
// is_locked() would.
bool holds(const mortise::LeaseInfo& lease) {
  return !lease.holder || lease.holder->alive;
}

Answer show(const mortise::StoreView& view, const Options& options) {
  const std::optional<mortise::LeaseInfo> lease = view.lease(*options.key);
  const ExitCode exit_code = lease && holds(*lease) ? kDone : kNobodyHoldsIt;
  if (options.json) return {render_json(lease), exit_code};
  if (lease) return {render_table({&*lease, 1}), exit_code};
  complain("nobody holds " + escape(options.key->bytes()));
  return {"", exit_code};
}

Answer report(const Options& options, const mortise::RepairReport& report) {
  const ExitCode exit_code = is_sound(report.left) ? kDone : kDamaged;
  return {options.json ? render_json(options.store, report) : render_lines(report), exit_code};
}

Answer answer(int argc, char** argv) {
  const auto request = parse_command_line(argc, argv);
  if (const auto* information = std::get_if<Information>(&request)) return {information->text};
  const auto& options = std::get<Options>(request);
  if (options.command == Options::Command::repair)
    return report(options, mortise::repair_store(options.store));
  const std::unique_ptr<mortise::StoreView> view = mortise::open_view(options.store);
  switch (options.command) {
    case Options::Command::show:
      return show(*view, options);
    case Options::Command::check:
      return report(options, {{}, view->check()});
    default:
      return list(*view, options);
  }
}

bool print(const std::string& text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
}

int run(int argc, char** argv) {
  try {
    const auto [text, exit_code] = answer(argc, argv);
    if (print(text)) return exit_code;
    complain("cannot write: " + std::generic_category().message(errno));
    return kOutputFailed;
  } catch (const std::invalid_argument& error) {
    complain(error.what());
    return kUsage;
  } catch (const std::exception& error) {
    complain(error.what());
    return kStoreFailed;
  }
}

}  // namespace
}  // namespace inspect_locks

int main(int argc, char** argv) {
  // Keys are shown as UTF-8 whatever the user's locale, so that a script gets the same text everywhere.
  uselocale(newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr));
  // A reader that went away is an error of the output like any other.
  std::signal(SIGPIPE, SIG_IGN);
  return inspect_locks::run(argc, argv);
}
