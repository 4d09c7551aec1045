// What the URL of a Redis store says.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/redis/tls.hpp"

namespace mortise::store::redis {

// Where a server listens.
struct Address {
  std::string host;  // empty: `path` is that of a unix socket
  std::uint16_t port = 0;
  std::string path;

  [[nodiscard]] std::string text() const;
  friend auto operator<=>(const Address&, const Address&) = default;
};

struct Options {
  enum class Kind { single, sentinel, cluster } kind = Kind::single;
  std::vector<Address> servers;  // one; or sentinels, or nodes of the cluster to begin with
  std::string master;            // what the sentinels call it
  std::string user;
  std::string password;
  unsigned database = 0;
  std::string prefix = "mortise:";
  std::chrono::milliseconds connect_timeout{2000};
  std::chrono::milliseconds timeout{2000};  // of one operation of the store, connecting and retrying included
  unsigned min_replicas = 0;
  std::chrono::milliseconds wait{500};
  std::shared_ptr<const TlsContext> tls;  // none: nothing is encrypted
};

// Throws std::invalid_argument, naming what is unknown or wrong, and a StoreError where TLS is not known.
Options parse_url(std::string_view text);

}  // namespace mortise::store::redis
