// inspect-locks: who holds what.
#include <locale.h>
#include <syslog.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <variant>
#include <vector>

#include "findings.hpp"
#include "json.hpp"
#include "metrics.hpp"
#include "mortise/inspect.hpp"
#include "options.hpp"
#include "serve_metrics.hpp"
#include "tables.hpp"
#include "text/key_text.hpp"
#include "top.hpp"
#include "watch.hpp"

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

using Command = Options::Command;

struct Answer {
  std::string text;
  ExitCode exit_code = kDone;
};

bool wants_json(const Options& options) {
  return options.format == Options::Format::json;
}

void complain(const std::string& sentence) {
  std::cerr << "inspect-locks: " << sentence << '\n';
}

void print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw std::system_error(errno, std::generic_category(), "cannot write");
}

Holders holders_of(const mortise::StoreView& view) {
  return view.knows_processes() ? Holders::known : Holders::unknown;
}

Answer list(const mortise::StoreView& view, const Options& options) {
  const std::vector<mortise::LeaseInfo> leases = view.leases();
  const Holders holders = holders_of(view);
  return {wants_json(options) ? render_json(options.shown_store, leases, holders)
                              : render_leases(leases, holders, wants_colours())};
}

// A dead holder's lease may still be there to be seen, but the lock is free: the exit code says what
// is_locked() would.
bool holds(const mortise::LeaseInfo& lease) {
  return !lease.holder || lease.holder->alive;
}

Answer tell_of(const std::optional<mortise::LeaseInfo>& lease, Holders holders, const Options& options) {
  const ExitCode exit_code = lease && holds(*lease) ? kDone : kNobodyHoldsIt;
  if (wants_json(options)) return {render_json(lease, holders), exit_code};
  if (lease) return {render_leases({&*lease, 1}, holders, wants_colours()), exit_code};
  complain("nobody holds " + text::escape(options.key->bytes()));
  return {"", exit_code};
}

// Ends it, says whose it was, and leaves a line in the system's log: that is where an operator looks who has
// to find out later why a job lost its lock.
Answer release(const Options& options) {
  const Holders holders = holders_of(*mortise::open_view(options.store));
  const auto lease = mortise::force_release(options.store, *options.key);
  if (lease) {
    const std::string holder = lease->holder ? "process " + std::to_string(lease->holder->pid) + " (" +
                                                   text::escape(lease->holder->command) + ")"
                                             : "an unnamed holder";
    syslog(LOG_NOTICE, "uid %u ended the lease of %s on %s by force", getuid(), holder.c_str(),
           text::escape(options.key->bytes()).c_str());
  }
  return tell_of(lease, holders, options);
}

Answer stats(const mortise::StoreView& view, const Options& options) {
  if (!options.key) {
    const mortise::StoreStats all = view.stats();
    return {wants_json(options) ? render_json(options.shown_store, all) : render_stats(all)};
  }
  const auto counters = view.counters(*options.key);
  return {wants_json(options) ? render_json(options.shown_store, *options.key, counters)
                              : render_counters(counters)};
}

Answer report(const Options& options, const mortise::RepairReport& report) {
  const ExitCode exit_code = is_sound(report.left) ? kDone : kDamaged;
  return {wants_json(options) ? render_json(options.shown_store, report) : render_lines(report), exit_code};
}

// Local time, to the millisecond.
std::string time_text() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  tm local{};
  localtime_r(&now.tv_sec, &local);
  std::array<char, 32> seconds{};
  std::array<char, 8> zone{};
  std::strftime(seconds.data(), seconds.size(), "%Y-%m-%dT%H:%M:%S", &local);
  std::strftime(zone.data(), zone.size(), "%z", &local);
  const std::string millis = std::to_string(1000 + now.tv_nsec / 1'000'000).substr(1);
  return std::string(seconds.data()) + "." + millis + zone.data();
}

std::string line_of(const Event& event, Holders holders) {
  const std::vector<std::string> cells = lease_cells(event.lease, holders);
  return time_text() + "  " + name_of(event.kind) + "  pid " + cells[1] + "  " + cells[2] + "  age " +
         cells[3] + "  left " + cells[4] + "  fence " + cells[5] + '\n';
}

Answer watch(const mortise::StoreView& view, const Options& options) {
  constexpr std::chrono::milliseconds kOften(20);
  constexpr std::chrono::milliseconds kOverNetwork(500);
  const Holders holders = holders_of(view);
  auto interval = options.interval;
  if (interval.count() == 0) interval = holders == Holders::known ? kOften : kOverNetwork;
  for (KeyHistory history;; std::this_thread::sleep_for(interval)) {
    for (const Event& event : history.look(view.lease(*options.key), KeyHistory::Clock::now()))
      print(wants_json(options) ? render_json(event, time_text(), holders) : line_of(event, holders));
  }
}

Answer answer_from(const mortise::StoreView& view, const Options& options) {
  if (options.format == Options::Format::openmetrics) return {render_metrics(options.shown_store, view)};
  switch (options.command) {
    case Command::show:
      return tell_of(view.lease(*options.key), holders_of(view), options);
    case Command::watch:
      return watch(view, options);
    case Command::top:
      show_top(view, options);
      return {};
    case Command::processes:
      return {wants_json(options) ? render_json(options.shown_store, view.processes())
                                  : render_processes(view.processes(), wants_colours())};
    case Command::stats:
      return stats(view, options);
    case Command::check:
      return report(options, {{}, view.check()});
    default:
      return list(view, options);
  }
}

Answer answer(int argc, char** argv) {
  const auto request = parse_command_line(argc, argv);
  if (const auto* information = std::get_if<Information>(&request)) return {information->text};
  const auto& options = std::get<Options>(request);
  if (options.command == Command::repair) return report(options, mortise::repair_store(options.store));
  if (options.command == Command::release) return release(options);
  if (options.command == Command::serve_metrics) serve_metrics(options);
  return answer_from(*mortise::open_view(options.store), options);
}

int run(int argc, char** argv) {
  try {
    const auto [text, exit_code] = answer(argc, argv);
    print(text);
    return exit_code;
  } catch (const std::invalid_argument& error) {
    complain(error.what());
    return kUsage;
  } catch (const mortise::StoreError& error) {
    complain(error.what());
    return kStoreFailed;
  } catch (const std::system_error& error) {
    complain(error.what());
    return kOutputFailed;
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
