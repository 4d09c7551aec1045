// The statements of the store, for either database.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "store/sql/database.hpp"
#include "store/sql/options.hpp"

namespace mortise::sql {

// How a database writes what they differ in.
struct Dialect {
  std::string_view now;        // the time in milliseconds, rounded down
  std::string_view now_up;     // and rounded up
  std::string_view fence;      // what an acquire gives: the fencing number, or anything
  std::string_view parameter;  // what stands before its number
};

class Statements {
 public:
  Statements(const Options& options, const Dialect& dialect);

  [[nodiscard]] const std::string& operator[](Query query) const {
    return texts_[static_cast<std::size_t>(query)];
  }
  std::string& operator[](Query query) { return texts_[static_cast<std::size_t>(query)]; }

  // `text` with its words replaced: :table, :fences, :key, :owner, :expires, :now, :up, :fence and ?.
  [[nodiscard]] std::string filled_in(std::string_view text) const;

 private:
  std::array<std::pair<std::string_view, std::string>, 9> words_;
  std::array<std::string, kQueries> texts_;
};

// "name", or "schema"."name".
std::string quoted_name(std::string_view schema, std::string_view name);

}  // namespace mortise::sql
