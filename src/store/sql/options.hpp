// What the URL of a store in a database says.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace mortise::sql {

struct Options {
  std::string url;       // for sentences: without the password
  std::string location;  // SQLite: the path; PostgreSQL: the URL without the options that are ours
  std::string schema;    // empty: the database's own choice
  std::string table = "locks";
  std::string key_column = "key";
  std::string owner_column = "owner";
  std::string expires_column = "expires_at";
  bool create = true;
  std::chrono::milliseconds timeout = std::chrono::seconds(5);
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(3);
  unsigned pool = 8;
  bool notify = true;
  bool prepare = true;
};

// Both throw std::invalid_argument that names what is wrong.
Options parse_sqlite_url(std::string_view text);
Options parse_postgresql_url(std::string_view text);

}  // namespace mortise::sql
