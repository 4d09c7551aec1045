// A Redis server, for the conformance suites: one for each test program, a prefix of its own for each place.
#pragma once

#include <atomic>

#include "conformance/conformance.hpp"
#include "mortise/redis_lock_store.hpp"
#include "stores/redis/redis_server.hpp"

namespace mortise::conformance {

inline StoreFactory redis_factory() {
  return {.name = "Redis",
          .make =
              [] {
                static const test::RedisServer server;
                static std::atomic<int> places = 0;
                const std::string url = server.url("?prefix=place-" + std::to_string(++places) + ":");
                return [url] { return std::make_shared<RedisLockStore>(url); };
              },
          .wakes_waiters = true,
          .shared_between_processes = true};
}

}  // namespace mortise::conformance
