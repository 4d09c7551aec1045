#include "store/store_url.hpp"

#include <unistd.h>

#include <string>

#include "store/segment_options.hpp"
#include "store/url.hpp"

namespace mortise::store {

namespace {

ShapeGuard guard(const Url& url, std::string_view value) {
  if (value == "mutex") return ShapeGuard::robust_mutex;
  if (value == "file") return ShapeGuard::file_lock;
  refuse_url(url.whole,
             "option \"guard\" has the value " + quoted(value) + "; it may be \"mutex\" or \"file\"");
}

void apply_option(StoreUrl& parsed, const Url& url, std::string_view name, std::string_view value) {
  const bool is_file = parsed.scheme == StoreUrl::Scheme::shm;
  if (name == "slots") {
    parsed.options.slots = number_value(url, name, value);
  } else if (name == "processes") {
    parsed.options.processes = number_value(url, name, value);
  } else if (name == "mode" && is_file) {
    parsed.options.mode = octal_value(url, name, value);
  } else if (name == "guard" && is_file) {
    parsed.options.guard = guard(url, value);
  } else {
    refuse_option(url, name);
  }
}

// Names are the same for every user: two users who name one segment share it, or one is told that he may not.
std::string segment_path(const Url& url) {
  const std::string_view name = url.body;
  const std::string prefix = "/dev/shm/mortise.";
  if (name.empty()) return prefix + "user-" + std::to_string(geteuid());
  if (name.front() == '/') return std::string(name);
  if (name.find('/') != std::string_view::npos)
    refuse_url(url.whole, "a segment's name has no \"/\"; a path begins with one");
  return prefix + std::string(name);
}

}  // namespace

bool is_table_scheme(std::string_view scheme) {
  return scheme == "shm" || scheme == "memory";
}

StoreUrl parse_store_url(std::string_view text) {
  const Url url = split_url(text);
  StoreUrl parsed{};
  if (url.scheme == "shm") {
    parsed.scheme = StoreUrl::Scheme::shm;
    parsed.path = segment_path(url);
    parsed.options.only_own_file = url.body.empty();
  } else {
    parsed.scheme = StoreUrl::Scheme::memory;
    if (!url.body.empty()) refuse_url(text, "a memory store has no name");
  }
  for (const auto& [name, value] : url.options) apply_option(parsed, url, name, value);
  check(parsed.options);
  return parsed;
}

}  // namespace mortise::store
