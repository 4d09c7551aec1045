#include "table.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <vector>

#include "display_width.hpp"
#include "key_text.hpp"

namespace inspect_locks {
namespace {

// A cell that is wider pushes the rest of its own line to the right, and no other line.
constexpr std::size_t kWidestAlignedCell = 40;

constexpr std::size_t kColumns = 7;
using Row = std::array<std::string, kColumns>;

std::string two_digits(long long number) {
  return std::string(number < 10 ? 1 : 0, '0').append(std::to_string(number));
}

// The two largest units, rounded down: 850ms, 29.8s, 3m12s, 2h05m, 364d23h.
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

std::string pid_text(const std::optional<mortise::HolderInfo>& holder) {
  if (!holder) return "handed over";
  return std::to_string(holder->pid) + (holder->alive ? "" : " (dead)");
}

std::string command_text(const std::optional<mortise::HolderInfo>& holder) {
  return holder && !holder->command.empty() ? escape(holder->command) : "-";
}

template <typename Number>
std::string number_text(const std::optional<Number>& number) {
  return number ? std::to_string(*number) : "-";
}

Row row_of(const mortise::LeaseInfo& lease) {
  return {escape(lease.key.bytes()),      pid_text(lease.holder),
          command_text(lease.holder),     lease.age ? duration_text(*lease.age) : "-",
          duration_text(lease.remaining), number_text(lease.fencing_token),
          number_text(lease.sleepers)};
}

std::array<std::size_t, kColumns> column_widths(std::span<const Row> rows) {
  std::array<std::size_t, kColumns> widths{};
  for (const Row& row : rows) {
    for (std::size_t column = 0; column < kColumns; ++column) {
      const std::size_t width = display_width(row[column]);
      if (width <= kWidestAlignedCell) widths[column] = std::max(widths[column], width);
    }
  }
  return widths;
}

}  // namespace

std::string render_table(std::span<const mortise::LeaseInfo> leases) {
  std::vector<Row> rows = {{"KEY", "PID", "COMMAND", "AGE", "LEFT", "FENCE", "SLEEPERS"}};
  rows.reserve(leases.size() + 1);
  for (const mortise::LeaseInfo& lease : leases) rows.push_back(row_of(lease));

  const auto widths = column_widths(rows);
  std::string table;
  for (const Row& row : rows) {
    for (std::size_t column = 0; column + 1 < kColumns; ++column) {
      const std::size_t width = display_width(row[column]);
      table += row[column];
      table.append(std::max(widths[column], width) - width + 2, ' ');
    }
    table += row.back() + '\n';
  }
  return table;
}

}  // namespace inspect_locks
