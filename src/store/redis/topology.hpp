// Which server has a key.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "store/redis/options.hpp"
#include "store/redis/pool.hpp"
#include "store/redis/reply.hpp"
#include "sys/clock.hpp"

namespace mortise::store::redis {

// Any thread may use it.
class Topology {
 public:
  Topology() = default;
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;
  virtual ~Topology() = default;

  // nullopt: nobody knows, and `failure` says why.
  virtual std::optional<Address> server_of(std::uint16_t slot, sys::TimePoint deadline, Reply& failure) = 0;
  // All servers that have keys. Empty: nobody knows.
  virtual std::vector<Address> all(sys::TimePoint deadline, Reply& failure) = 0;
  // That server failed, or says that it is not the one: next time, somebody is asked anew.
  virtual void doubt(const Address& server) = 0;
  // A server says who has the slot from now on.
  virtual void learn(std::uint16_t /*slot*/, const Address& /*server*/) {}
  // May a server that fails soon be replaced by another one, so that it is worth asking again?
  [[nodiscard]] virtual bool has_substitutes() const = 0;
};

std::unique_ptr<Topology> make_topology(const Options& options, Pool& pool);

}  // namespace mortise::store::redis
