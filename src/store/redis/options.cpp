#include "store/redis/options.hpp"

#include <charconv>
#include <utility>

#include "store/url.hpp"

namespace mortise::store::redis {

namespace {

constexpr std::uint16_t kServerPort = 6379;
constexpr std::uint16_t kSentinelPort = 26379;

std::uint16_t parse_port(const Url& url, std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size() || port == 0)
    refuse_url(url.whole, quoted(text) + " is no port");
  return port;
}

// "host", "host:port", "[::1]:port" or "".
Address parse_server(const Url& url, std::string_view text, std::uint16_t default_port) {
  std::string_view host = text;
  std::string_view rest;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) refuse_url(url.whole, "a \"]\" is missing");
    host = text.substr(1, end - 1);
    rest = text.substr(end + 1);
  } else if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    rest = text.substr(colon);
  }
  if (!rest.empty() && rest.front() != ':') refuse_url(url.whole, quoted(rest) + " is no port");
  Address server{host.empty() ? "127.0.0.1" : percent_decoded(url, host), default_port, {}};
  if (!rest.empty()) server.port = parse_port(url, rest.substr(1));
  return server;
}

std::vector<Address> parse_servers(const Url& url, std::string_view list, std::uint16_t default_port) {
  std::vector<Address> servers;
  for (;;) {
    const std::size_t comma = list.find(',');
    servers.push_back(parse_server(url, list.substr(0, comma), default_port));
    if (comma == std::string_view::npos) return servers;
    list.remove_prefix(comma + 1);
  }
}

// What stands before the last "@": "user:password", ":password" or "user".
std::string_view take_user(Options& options, const Url& url, std::string_view authority) {
  const std::size_t at = authority.rfind('@');
  if (at == std::string_view::npos) return authority;
  const std::string_view user = authority.substr(0, at);
  const std::size_t colon = user.find(':');
  options.user = percent_decoded(url, user.substr(0, colon));
  if (colon != std::string_view::npos) options.password = percent_decoded(url, user.substr(colon + 1));
  return authority.substr(at + 1);
}

unsigned parse_database(const Url& url, std::string_view text) {
  return number_value(url, "db", text);
}

void parse_unix(Options& options, const Url& url) {
  std::string_view path = url.body;
  if (path.starts_with("//")) {
    path.remove_prefix(2);
    const std::size_t slash = path.find('/');
    const std::string_view authority = path.substr(0, slash);
    if (!take_user(options, url, authority).empty())
      refuse_url(url.whole, "the path of a unix socket begins with a \"/\"");
    path.remove_prefix(authority.size());
  }
  if (!path.starts_with('/')) refuse_url(url.whole, "the path of a unix socket begins with a \"/\"");
  options.servers.push_back({{}, 0, percent_decoded(url, path)});
}

void parse_hosts(Options& options, const Url& url) {
  if (!url.body.starts_with("//"))
    refuse_url(url.whole, "\"//\" and a host are missing behind " + quoted(url.scheme) + ":");
  const std::string_view rest = url.body.substr(2);
  const std::size_t slash = rest.find('/');
  const std::string_view hosts = take_user(options, url, rest.substr(0, slash));
  const std::string_view path = slash == std::string_view::npos ? "" : rest.substr(slash + 1);
  const bool asks_sentinels = options.kind == Options::Kind::sentinel;
  options.servers = parse_servers(url, hosts, asks_sentinels ? kSentinelPort : kServerPort);
  if (options.kind == Options::Kind::single && options.servers.size() != 1)
    refuse_url(url.whole, "this scheme takes one host");
  if (asks_sentinels) {
    options.master = percent_decoded(url, path);
    if (path.empty()) refuse_url(url.whole, "behind the hosts the name of the master is missing: \"/name\"");
  } else if (!path.empty() && options.kind == Options::Kind::cluster) {
    refuse_url(url.whole, "a cluster has no databases");
  } else if (!path.empty()) {
    options.database = parse_database(url, path);
  }
}

void apply_option(Options& options, const Url& url, std::string_view name, std::string_view value) {
  if (name == "prefix") {
    options.prefix = percent_decoded(url, value);
  } else if (name == "connect_timeout") {
    options.connect_timeout = duration_value(url, name, value);
  } else if (name == "timeout") {
    options.timeout = duration_value(url, name, value);
  } else if (name == "min_replicas") {
    options.min_replicas = number_value(url, name, value);
  } else if (name == "wait") {
    options.wait = duration_value(url, name, value);
  } else if (name == "db" && options.kind != Options::Kind::cluster) {
    options.database = parse_database(url, value);
  } else {
    refuse_option(url, name);
  }
}

// nullptr: no option of TLS is called that.
std::string* file_called(TlsFiles& files, std::string_view option) {
  if (option == "ca") return &files.authorities;
  if (option == "cert") return &files.certificate;
  return option == "key" ? &files.key : nullptr;
}

}  // namespace

std::string Address::text() const {
  if (host.empty()) return path;
  const std::string name = host.find(':') == std::string::npos ? host : std::string("[").append(host) + "]";
  return name + ":" + std::to_string(port);
}

Options parse_url(std::string_view text) {
  const Url url = split_url(text);
  Options options;
  if (url.scheme.ends_with("+sentinel")) options.kind = Options::Kind::sentinel;
  if (url.scheme.ends_with("+cluster")) options.kind = Options::Kind::cluster;
  if (url.scheme == "redis+unix") {
    parse_unix(options, url);
  } else {
    parse_hosts(options, url);
  }
  const bool is_encrypted = url.scheme.starts_with("rediss");
  TlsFiles files;
  for (const auto& [name, value] : url.options) {
    if (std::string* const file = is_encrypted ? file_called(files, name) : nullptr)
      *file = percent_decoded(url, value);
    else
      apply_option(options, url, name, value);
  }
  if (!is_encrypted) return options;
  std::string failure;
  options.tls = make_tls_context(files, failure);
  if (!options.tls) refuse_url(url.whole, failure);
  return options;
}

}  // namespace mortise::store::redis
