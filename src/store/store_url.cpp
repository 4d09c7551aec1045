#include "store/store_url.hpp"

#include <unistd.h>

#include <charconv>
#include <set>
#include <stdexcept>

#include "store/segment_options.hpp"

namespace mortise::store {

namespace {

[[noreturn]] void refuse(std::string_view url, const std::string& reason) {
  throw std::invalid_argument("mortise: store URL \"" + std::string(url) + "\": " + reason);
}

std::string quoted(std::string_view text) {
  return std::string(1, '"').append(text).append(1, '"');
}

unsigned number(std::string_view url, std::string_view name, std::string_view value, int base) {
  unsigned result = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result, base);
  if (error != std::errc{} || end != value.data() + value.size() || value.empty()) {
    refuse(url, "option " + quoted(name) + " has the value " + quoted(value) + ", which is no " +
                    (base == 8 ? "octal " : "") + "number");
  }
  return result;
}

ShapeGuard guard(std::string_view url, std::string_view value) {
  if (value == "mutex") return ShapeGuard::robust_mutex;
  if (value == "file") return ShapeGuard::file_lock;
  refuse(url, "option \"guard\" has the value " + quoted(value) + "; it may be \"mutex\" or \"file\"");
}

void apply_option(StoreUrl& parsed, std::string_view url, std::string_view name, std::string_view value) {
  constexpr int kDecimal = 10;
  constexpr int kOctal = 8;
  if (name == "slots") {
    parsed.options.slots = number(url, name, value, kDecimal);
  } else if (name == "processes") {
    parsed.options.processes = number(url, name, value, kDecimal);
  } else if (name == "mode" && parsed.scheme == StoreUrl::Scheme::shm) {
    parsed.options.mode = number(url, name, value, kOctal);
  } else if (name == "guard" && parsed.scheme == StoreUrl::Scheme::shm) {
    parsed.options.guard = guard(url, value);
  } else {
    refuse(url, "unknown option " + quoted(name));
  }
}

void apply_options(StoreUrl& parsed, std::string_view url, std::string_view query) {
  std::set<std::string_view> seen;
  while (!query.empty()) {
    const std::string_view option = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), option.size() + 1));
    const std::size_t equals = option.find('=');
    if (equals == std::string_view::npos) refuse(url, "option " + quoted(option) + " has no value");
    const std::string_view name = option.substr(0, equals);
    if (!seen.insert(name).second) refuse(url, "option " + quoted(name) + " is given twice");
    apply_option(parsed, url, name, option.substr(equals + 1));
  }
}

// Names are the same for every user: two users who name one segment share it, or one is told that he may not.
std::string segment_path(std::string_view url, std::string_view name) {
  const std::string prefix = "/dev/shm/mortise.";
  if (name.empty()) return prefix + "user-" + std::to_string(geteuid());
  if (name.front() == '/') return std::string(name);
  if (name.find('/') != std::string_view::npos)
    refuse(url, "a segment's name has no \"/\"; a path begins with one");
  return prefix + std::string(name);
}

}  // namespace

StoreUrl parse_store_url(std::string_view url) {
  const std::size_t colon = url.find(':');
  if (colon == std::string_view::npos)
    refuse(url, "there is no scheme; did you mean \"shm:" + std::string(url) + "\"?");
  const std::string_view scheme = url.substr(0, colon);
  const std::string_view rest = url.substr(colon + 1);
  const std::string_view name = rest.substr(0, rest.find('?'));
  const std::string_view query =
      name.size() < rest.size() ? rest.substr(name.size() + 1) : std::string_view();
  if (name.find('\0') != std::string_view::npos) refuse(url, "there is a NUL byte in it");

  StoreUrl parsed{};
  if (scheme == "shm") {
    parsed.scheme = StoreUrl::Scheme::shm;
    parsed.path = segment_path(url, name);
    parsed.options.only_own_file = name.empty();
  } else if (scheme == "memory") {
    parsed.scheme = StoreUrl::Scheme::memory;
    if (!name.empty()) refuse(url, "a memory store has no name");
  } else {
    refuse(url, "unknown scheme " + quoted(scheme) + "; there are \"shm\" and \"memory\"");
  }
  apply_options(parsed, url, query);
  check(parsed.options);
  return parsed;
}

}  // namespace mortise::store
