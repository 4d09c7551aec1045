#include "store/sql/options.hpp"

#include "store/url.hpp"

namespace mortise::sql {

namespace {

using store::Url;

// Quoted in every statement, and still kept to what needs no quoting: a name is no place for surprises.
std::string checked_name(const Url& url, std::string_view option, std::string_view value) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  constexpr std::size_t kLongest = 50;  // PostgreSQL cuts what is longer than 63, a suffix included
  if (value.empty() || value.size() > kLongest || value.find_first_not_of(kAllowed) != std::string_view::npos)
    store::refuse_url(url.whole, "option " + store::quoted(option) + " has the value " +
                                     store::quoted(value) + "; a name is up to 50 letters, digits and \"_\"");
  return std::string(value);
}

void set_table(Options& options, const Url& url, std::string_view value) {
  const std::size_t dot = value.find('.');
  if (dot != std::string_view::npos) {
    options.schema = checked_name(url, "table", value.substr(0, dot));
    value.remove_prefix(dot + 1);
  }
  options.table = checked_name(url, "table", value);
}

// False: it is none of the options that both have.
bool apply_common_option(Options& options, const Url& url, std::string_view name, std::string_view value) {
  if (name == "table") {
    set_table(options, url, value);
  } else if (name == "key_column") {
    options.key_column = checked_name(url, name, value);
  } else if (name == "owner_column") {
    options.owner_column = checked_name(url, name, value);
  } else if (name == "expires_column") {
    options.expires_column = checked_name(url, name, value);
  } else if (name == "create") {
    options.create = store::switch_value(url, name, value);
  } else if (name == "timeout") {
    options.timeout = store::duration_value(url, name, value);
  } else {
    return false;
  }
  return true;
}

// False: it is for libpq.
bool apply_postgresql_option(Options& options, const Url& url, std::string_view name,
                             std::string_view value) {
  if (apply_common_option(options, url, name, value)) return true;
  if (name == "connect_timeout") {
    options.connect_timeout = store::duration_value(url, name, value);
  } else if (name == "pool") {
    options.pool = store::number_value(url, name, value);
    if (options.pool == 0) store::refuse_url(url.whole, "option \"pool\" must be 1 or more");
  } else if (name == "notify") {
    options.notify = store::switch_value(url, name, value);
  } else if (name == "prepare") {
    options.prepare = store::switch_value(url, name, value);
  } else {
    return false;
  }
  return true;
}

}  // namespace

Options parse_sqlite_url(std::string_view text) {
  const Url url = store::split_url(text);
  Options options;
  options.url = std::string(text);
  options.location = store::percent_decoded(url, url.body);
  if (options.location.empty() || options.location == ":memory:")
    store::refuse_url(text, "there is no path of a file; \"memory:\" is the store for a single process");
  for (const auto& [name, value] : url.options)
    if (!apply_common_option(options, url, name, value)) store::refuse_option(url, name);
  if (!options.schema.empty()) store::refuse_url(text, "a table in SQLite has no schema");
  return options;
}

Options parse_postgresql_url(std::string_view text) {
  const Url url = store::split_url(text);
  Options options;
  options.url = store::without_password(text);
  options.location = std::string(text.substr(0, text.find('?')));
  if (!url.body.starts_with("//")) store::refuse_url(text, "after \"postgresql:\" comes \"//\"");
  char separator = '?';
  for (const auto& [name, value] : url.options) {
    if (apply_postgresql_option(options, url, name, value)) continue;
    options.location.append(1, separator).append(name).append("=").append(value);
    separator = '&';
  }
  return options;
}

}  // namespace mortise::sql
