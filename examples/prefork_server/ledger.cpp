#include "ledger.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace prefork_server {
namespace {

[[noreturn]] void throw_errno(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

std::string line_of(const LedgerEntry& entry) {
  std::string line = entry.invoice_id + ',' + entry.amount + ',' + entry.currency + ',' +
                     std::to_string(entry.fencing_number) + ',' + std::to_string(entry.worker);
  if (line.size() >= Ledger::kLineBytes) throw std::length_error("too long for a ledger's line: " + line);
  line.resize(Ledger::kLineBytes - 1, ' ');
  return line + '\n';
}

}  // namespace

Ledger::Ledger(const std::string& path)
    : path_(path), file_(open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644)) {
  if (file_ < 0) throw_errno("cannot open the ledger " + path_);
  read_new_lines();
}

Ledger::~Ledger() {
  close(file_);
}

bool Ledger::contains(std::string_view invoice_id) {
  read_new_lines();
  return charged_.contains(invoice_id);
}

void Ledger::append(const LedgerEntry& entry) {
  const std::string line = line_of(entry);
  const ssize_t written = write(file_, line.data(), line.size());
  if (written >= 0 && static_cast<std::size_t>(written) != line.size()) errno = ENOSPC;
  if (written != static_cast<ssize_t>(line.size()) || fdatasync(file_) != 0) {
    throw_errno("cannot write to the ledger " + path_);
  }
}

void Ledger::read_new_lines() {
  std::array<char, kLineBytes> buffer{};
  while (true) {
    const ssize_t bytes = pread(file_, buffer.data(), buffer.size(), bytes_read_);
    if (bytes < 0) throw_errno("cannot read the ledger " + path_);
    if (bytes == 0) return;
    const std::string_view line(buffer.data(), static_cast<std::size_t>(bytes));
    if (line.size() != kLineBytes || line.back() != '\n') {
      throw std::runtime_error(path_ + " is not a ledger, from byte " + std::to_string(bytes_read_) + " on");
    }
    charged_.emplace(line.substr(0, line.find(',')));
    bytes_read_ += bytes;
  }
}

}  // namespace prefork_server
