#include "store/sql/statements.hpp"

namespace mortise::sql {

namespace {

// Each touches one row, by its primary key, except those that list and sweep, which go along it. Two looks at
// the clock in one statement may differ, so a time left is never said to be below zero.

// Taken over is what has expired; what this owner has already was granted to an earlier attempt whose answer
// was lost (C23). The expiry is computed anew in the second part: it may have waited for the row.
constexpr std::string_view kAcquire =
    "INSERT INTO :table AS held (:key, :owner, :expires) VALUES (?1, ?2, :up + ?3) "
    "ON CONFLICT (:key) DO UPDATE SET :owner = ?2, :expires = :up + ?3 "
    "WHERE held.:expires <= :now OR held.:owner = ?2 RETURNING :fence";
constexpr std::string_view kRelease =
    "DELETE FROM :table WHERE :key = ?1 AND :owner = ?2 AND :expires > :now RETURNING 1";
constexpr std::string_view kExtend =
    "UPDATE :table SET :expires = :up + ?3 WHERE :key = ?1 AND :owner = ?2 AND :expires > :now RETURNING 1";
constexpr std::string_view kFind =
    "SELECT :owner, :expires - :up FROM :table WHERE :key = ?1 AND (:expires > :now OR :expires IS NULL)";
constexpr std::string_view kList =
    "SELECT :key, :owner, :expires - :up FROM :table "
    "WHERE :key > ?1 AND (:expires > :now OR :expires IS NULL) ORDER BY :key LIMIT ?2";
constexpr std::string_view kEnd =
    "DELETE FROM :table WHERE :key = ?1 AND (:expires > :now OR :expires IS NULL) "
    "RETURNING :owner, :expires - :up";
constexpr std::string_view kSurvey =
    "SELECT count(*), max(:key), count(CASE WHEN :expires <= :now THEN 1 END) FROM "
    "(SELECT :key, :expires FROM :table WHERE :key > ?1 ORDER BY :key LIMIT ?2) AS seen";
constexpr std::string_view kSweep =
    "DELETE FROM :table WHERE :key > ?1 AND :key <= ?2 AND :expires <= :now RETURNING 1";

}  // namespace

std::string quoted_name(std::string_view schema, std::string_view name) {
  std::string text;
  if (!schema.empty()) text.append("\"").append(schema).append("\".");
  return text.append("\"").append(name).append("\"");
}

Statements::Statements(const Options& options, const Dialect& dialect)
    : words_{{{":table", quoted_name(options.schema, options.table)},
              {":fences", quoted_name(options.schema, options.table + "_fences")},
              {":key", quoted_name({}, options.key_column)},
              {":owner", quoted_name({}, options.owner_column)},
              {":expires", quoted_name({}, options.expires_column)},
              {":now", std::string(dialect.now)},
              {":up", std::string(dialect.now_up)},
              {":fence", std::string(dialect.fence)},
              {"?", std::string(dialect.parameter)}}} {
  // The fence may be written with the name of its table.
  words_[7].second = filled_in(dialect.fence);
  constexpr std::array<std::string_view, kQueries> kTexts = {kAcquire, kRelease, kExtend, kFind,
                                                             kList,    kEnd,     kSurvey, kSweep};
  for (std::size_t i = 0; i < kQueries; ++i) texts_[i] = filled_in(kTexts[i]);
}

std::string Statements::filled_in(std::string_view text) const {
  std::string result;
  while (!text.empty()) {
    const auto* word = words_.begin();
    while (word != words_.end() && !text.starts_with(word->first)) ++word;
    if (word == words_.end()) {
      result += text.front();
      text.remove_prefix(1);
    } else {
      result += word->second;
      text.remove_prefix(word->first.size());
    }
  }
  return result;
}

}  // namespace mortise::sql
