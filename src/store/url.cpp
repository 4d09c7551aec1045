#include "store/url.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <stdexcept>

namespace mortise::store {

namespace {

constexpr int kOctal = 8;
constexpr int kDecimal = 10;
constexpr int kHexadecimal = 16;

template <typename Number>
std::optional<Number> parse(std::string_view text, int base) {
  Number result = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result, base);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return result;
}

[[noreturn]] void refuse_value(const Url& url, std::string_view name, std::string_view value,
                               const std::string& expected) {
  refuse_url(url.whole,
             "option " + quoted(name) + " has the value " + quoted(value) + ", which is no " + expected);
}

void add_option(Url& url, std::string_view option) {
  const std::size_t equals = option.find('=');
  if (equals == std::string_view::npos) refuse_url(url.whole, "option " + quoted(option) + " has no value");
  const std::string_view name = option.substr(0, equals);
  const auto is_it = [&](const auto& other) { return other.first == name; };
  if (std::any_of(url.options.begin(), url.options.end(), is_it))
    refuse_url(url.whole, "option " + quoted(name) + " is given twice");
  url.options.emplace_back(name, option.substr(equals + 1));
}

}  // namespace

Url split_url(std::string_view url) {
  if (url.find('\0') != std::string_view::npos) refuse_url(url, "there is a NUL byte in it");
  const std::size_t colon = url.find(':');
  if (colon == std::string_view::npos)
    refuse_url(url, "there is no scheme; did you mean \"shm:" + std::string(url) + "\"?");
  const std::string_view rest = url.substr(colon + 1);
  Url parts{url, url.substr(0, colon), rest.substr(0, rest.find('?')), {}};
  std::string_view query = rest.substr(std::min(rest.size(), parts.body.size() + 1));
  while (!query.empty()) {
    const std::string_view option = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), option.size() + 1));
    add_option(parts, option);
  }
  return parts;
}

void refuse_url(std::string_view url, const std::string& reason) {
  throw std::invalid_argument("mortise: store URL " + quoted(without_password(url)) + ": " + reason);
}

void refuse_option(const Url& url, std::string_view name) {
  refuse_url(url.whole, "unknown option " + quoted(name));
}

std::string without_password(std::string_view url) {
  const std::size_t slashes = url.find("://");
  if (slashes == std::string_view::npos) return std::string(url);
  const std::size_t begin = slashes + 3;
  // A password may contain "/" or "?" by mistake: everything up to the last "@" may be part of it.
  const std::size_t at = url.rfind('@');
  const std::size_t colon = url.find(':', begin);
  if (at == std::string_view::npos || colon == std::string_view::npos || colon > at) return std::string(url);
  return std::string(url.substr(0, colon + 1)).append("***").append(url.substr(at));
}

std::string quoted(std::string_view text) {
  return std::string(1, '"').append(text).append(1, '"');
}

std::string percent_decoded(const Url& url, std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const auto byte = parse<unsigned char>(text.substr(i + 1, 2), kHexadecimal);
    if (text.size() - i < 3 || !byte || *byte == 0)
      refuse_url(url.whole,
                 "a \"%\" begins the two hexadecimal digits of a byte that is not 0; \"%25\" is a \"%\"");
    decoded += static_cast<char>(*byte);
    i += 2;
  }
  return decoded;
}

unsigned number_value(const Url& url, std::string_view name, std::string_view value) {
  const auto number = parse<unsigned>(value, kDecimal);
  if (!number) refuse_value(url, name, value, "number");
  return *number;
}

unsigned octal_value(const Url& url, std::string_view name, std::string_view value) {
  const auto number = parse<unsigned>(value, kOctal);
  if (!number) refuse_value(url, name, value, "octal number");
  return *number;
}

std::chrono::milliseconds duration_value(const Url& url, std::string_view name, std::string_view value) {
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24);
  const std::size_t digits = std::min(value.size(), value.find_first_not_of("0123456789"));
  const auto count = parse<std::uint32_t>(value.substr(0, digits), kDecimal);
  const std::string_view unit = value.substr(digits);
  const int milliseconds = unit == "ms" ? 1 : unit == "s" ? 1000 : unit == "m" ? 60'000 : 0;
  const std::chrono::milliseconds duration(std::int64_t{count.value_or(0)} * milliseconds);
  if (duration.count() == 0 || duration > kLongest)
    refuse_value(url, name, value, "duration from 1ms to a day, such as 500ms, 2s or 1m");
  return duration;
}

bool switch_value(const Url& url, std::string_view name, std::string_view value) {
  if (value != "0" && value != "1") refuse_value(url, name, value, "0 or 1");
  return value == "1";
}

}  // namespace mortise::store
