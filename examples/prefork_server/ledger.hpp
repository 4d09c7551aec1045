// Which invoices were charged: a file that all workers append to.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace prefork_server {

struct LedgerEntry {
  std::string invoice_id;
  std::string amount;
  std::string currency;
  std::uint64_t fencing_number;  // of the lease under which it was charged
  pid_t worker;
};

// One line an entry: id,amount,currency,fencing number,pid; filled up with spaces to kLineBytes.
class Ledger {
 public:
  // Power-of-two sized lines never cross the boundary of a page, where the kernel may cut a write short when
  // it kills the writer: a line is there whole, or not at all.
  static constexpr std::size_t kLineBytes = 128;

  // Opens the file, or makes it, and reads it. Throws std::system_error, or std::runtime_error when it isn't
  // a ledger.
  explicit Ledger(const std::string& path);
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;
  ~Ledger();

  // Looks at the lines that other workers have written, too.
  bool contains(std::string_view invoice_id);
  // When it returns, the line is on the disk. Throws std::system_error.
  void append(const LedgerEntry& entry);

 private:
  void read_new_lines();

  std::string path_;
  int file_;
  off_t bytes_read_ = 0;
  std::set<std::string, std::less<>> charged_;
};

}  // namespace prefork_server
