// What a store needs of a database: a handful of statements, each carried out as a whole or not at all.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "mortise/errors.hpp"
#include "store/sql/options.hpp"
#include "sys/clock.hpp"

namespace mortise::sql {

enum class Query : std::uint8_t {
  acquire,  // key, owner, ttl: a row with the fencing number if it is granted
  release,  // key, owner: a row if it was held
  extend,   // key, owner, ttl: a row if it was held
  find,     // key: a row with the owner and the time left if it is held
  list,     // key, limit: rows with key, owner and time left of the leases after that key
  end,      // key: deletes what find finds, and gives its row
  survey,   // key, limit: a row that says of the next rows how many, the last one's key, how many are expired
  sweep,    // key, last key: deletes the expired rows after the first up to the last
};
inline constexpr std::size_t kQueries = 8;

using Parameter = std::variant<std::string_view, std::int64_t>;
using Row = std::array<std::string, 3>;  // as many as the query has, as text

struct Answer {
  std::vector<Row> rows;
  // The connection was lost after an earlier attempt had been sent: it may have been carried out, too.
  bool is_second = false;
};

// A waiter's ear. While it lives, it hears of what may have freed its key.
class Ear {
 public:
  Ear() = default;
  Ear(const Ear&) = delete;
  Ear& operator=(const Ear&) = delete;
  virtual ~Ear() = default;

  enum class Woken : std::uint8_t { by_time, by_news, by_stop };
  // Until it hears something that came since the last call returned, `until`, or a stop request.
  virtual Woken sleep_until(sys::TimePoint until, const std::stop_token& stop) = 0;
};

class Database {
 public:
  Database() = default;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  virtual ~Database() = default;

  // Tries again what the database asks to be tried again, and what was lost with its connection, within the
  // time-out. Throws StoreError.
  virtual Answer run(Query query, std::span<const Parameter> parameters) = 0;

  // Of a waiter for the key with that text.
  virtual std::unique_ptr<Ear> listen(const std::string& key) = 0;
};

std::unique_ptr<Database> open_sqlite(const Options& options);
std::unique_ptr<Database> open_postgresql(const Options& options);

}  // namespace mortise::sql
