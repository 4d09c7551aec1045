// What the store asks of PostgreSQL, written by hand in libpq, prepared.
#pragma once

#include <libpq-fe.h>

#include <memory>
#include <string>

namespace mortise::bench {

// On the table that the store has made, with its default name and a key of its own.
class PostgresqlByHand {
 public:
  explicit PostgresqlByHand(const std::string& url);

  // False: somebody else has it.
  bool acquire();
  // With a notification.
  void release();
  void execute(const std::string& statement);
  // Until a notification comes, in a connection that has executed LISTEN.
  void wait_for_notification();

 private:
  void prepare(const char* name, const std::string& text);
  // The number of rows.
  int run(const char* name);
  int check(PGresult* result);

  std::unique_ptr<PGconn, void (*)(PGconn*)> connection_;
  const std::string owner_;
};

}  // namespace mortise::bench
