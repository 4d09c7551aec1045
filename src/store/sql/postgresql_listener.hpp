// Hears in PostgreSQL of released keys, for all waiters of a process.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "store/sql/database.hpp"
#include "store/sql/options.hpp"

namespace mortise::sql {

// One connection and one thread, from the first wait that lasts until a second after the last; a server keeps
// what nobody takes from an idle listener. A forked child has neither. Behind a proxy that lends connections
// for a transaction nothing is heard, and waiters look again after their retry_delay.
class PostgresqlListener {
 public:
  static constexpr std::string_view kChannel = "mortise";

  explicit PostgresqlListener(const Options& options) : options_(options) {}
  PostgresqlListener(const PostgresqlListener&) = delete;
  PostgresqlListener& operator=(const PostgresqlListener&) = delete;
  ~PostgresqlListener();

  // Hears the notifications with that payload. It must not outlive this object.
  std::unique_ptr<Ear> ear(const std::string& payload);

 private:
  class Ward;
  class PayloadEar;
  Ward& ward();

  const Options& options_;
  Ward* ward_ = nullptr;  // of this process, or inherited
};

}  // namespace mortise::sql
