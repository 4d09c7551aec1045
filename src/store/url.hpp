// What the URLs of all stores have in common: SCHEME:BODY?NAME=VALUE&NAME=VALUE.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::store {

struct Url {
  std::string_view whole;
  std::string_view scheme;
  std::string_view body;
  std::vector<std::pair<std::string_view, std::string_view>> options;  // each name once
};

// Throws std::invalid_argument for a URL without a scheme, with a NUL byte, or with an option that has no
// value or is there twice. The parts are views of `url`.
Url split_url(std::string_view url);

// Throws std::invalid_argument that quotes the URL, but not a password in it, and gives the reason.
[[noreturn]] void refuse_url(std::string_view url, const std::string& reason);
[[noreturn]] void refuse_option(const Url& url, std::string_view name);  // there is no such option

// The URL with what stands between the user's name and the "@" of its authority blotted out.
std::string without_password(std::string_view url);

// `text` in quotation marks.
std::string quoted(std::string_view text);

// %41 is "A". Refuses what is no such escape, and an escaped NUL.
std::string percent_decoded(const Url& url, std::string_view text);

// The values of options; each refuses what is none of them, with a sentence that names the option.
unsigned number_value(const Url& url, std::string_view name, std::string_view value);
unsigned octal_value(const Url& url, std::string_view name, std::string_view value);
// "500ms", "2s" or "1m": more than 0, at most a day.
std::chrono::milliseconds duration_value(const Url& url, std::string_view name, std::string_view value);
// "1" or "0".
bool switch_value(const Url& url, std::string_view name, std::string_view value);

}  // namespace mortise::store
