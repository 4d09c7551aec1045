// A PostgreSQL server of a test's own.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "support/temporary_directory.hpp"

namespace mortise::test {

// A cluster in a temporary directory, on a socket there. It is not durable, and dies with the thread that
// started it.
class PostgresqlServer {
 public:
  // Whether there is one on this machine.
  static bool is_installed();
  // A copy of it, which can be read, and follows it until it is promoted.
  static PostgresqlServer standby_of(const PostgresqlServer& primary);

  PostgresqlServer();
  PostgresqlServer(const PostgresqlServer&) = delete;
  PostgresqlServer& operator=(const PostgresqlServer&) = delete;
  ~PostgresqlServer();

  void start();
  // As SIGTERM and its kind are understood by a postmaster; returns when it is gone.
  void stop(int signal);
  // SIGSTOP and SIGCONT, to the postmaster and to every process of it.
  void freeze() const { signal_all(true); }
  void thaw() const { signal_all(false); }

  // The URL of a store on it. `options`: such as "table=locks&timeout=1s".
  [[nodiscard]] std::string url(std::string_view options, std::string_view user = "postgres") const;
  // Its directory is writable for the server.
  [[nodiscard]] const TemporaryDirectory& directory() const { return directory_; }
  // Runs a statement and gives the first column of its first row, or nothing. Throws std::runtime_error.
  std::string execute(const std::string& statement) const;  // NOLINT(modernize-use-nodiscard)

 private:
  explicit PostgresqlServer(const PostgresqlServer* primary);
  void signal_all(bool freeze) const;
  [[nodiscard]] std::string place() const;  // for libpq

  TemporaryDirectory directory_;
  pid_t pid_ = -1;
};

}  // namespace mortise::test
