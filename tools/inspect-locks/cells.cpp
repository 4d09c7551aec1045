#include "cells.hpp"

#include "text/key_text.hpp"

namespace inspect_locks {
namespace {

std::string two_digits(long long number) {
  return std::string(number < 10 ? 1 : 0, '0').append(std::to_string(number));
}

std::string pid_text(const std::optional<mortise::HolderInfo>& holder, Holders holders) {
  if (!holder) return holders == Holders::known ? "handed over" : "-";
  return std::to_string(holder->pid) + (holder->alive ? "" : " (dead)");
}

std::string command_text(const std::optional<mortise::HolderInfo>& holder) {
  return holder && !holder->command.empty() ? text::escape(holder->command) : "-";
}

}  // namespace

std::string duration_text(std::chrono::milliseconds duration) {
  const long long milliseconds = duration.count();
  const long long seconds = milliseconds / 1000;
  const long long minutes = seconds / 60;
  const long long hours = minutes / 60;
  if (seconds == 0) return std::to_string(milliseconds) + "ms";
  if (minutes == 0) {
    return std::to_string(seconds) + "." + std::to_string(milliseconds % 1000 / 100) + "s";
  }
  if (hours == 0) return std::to_string(minutes) + "m" + two_digits(seconds % 60) + "s";
  if (hours < 24) return std::to_string(hours) + "h" + two_digits(minutes % 60) + "m";
  return std::to_string(hours / 24) + "d" + two_digits(hours % 24) + "h";
}

const std::vector<std::string>& lease_headings() {
  static const std::vector<std::string> headings = {"KEY",  "PID",   "COMMAND", "AGE",
                                                    "LEFT", "FENCE", "SLEEPERS"};
  return headings;
}

std::vector<std::string> lease_cells(const mortise::LeaseInfo& lease, Holders holders) {
  return {text::escape(lease.key.bytes()), pid_text(lease.holder, holders),
          command_text(lease.holder),      lease.age ? duration_text(*lease.age) : "-",
          duration_text(lease.remaining),  number_text(lease.fencing_token),
          number_text(lease.sleepers)};
}

}  // namespace inspect_locks
