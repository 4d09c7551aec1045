// What every store has to do, as tests. Their names carry the clauses: C01, C02, and so on.
//
// To run them against a store of your own, write one file, and link it with mortise_conformance and
// GTest::gmock_main:
//
//   using namespace mortise::conformance;
//   StoreFactory my_store() {
//     return {.name = "MyStore", .make = [] { return [place = make_an_empty_place()] { return
//     connect_to(place); }; }};
//   }
//   INSTANTIATE_TEST_SUITE_P(MyStore, Conformance, testing::Values(my_store()), name_of);
//
// If processes share its leases, do the same with ProcessConformance and mortise_process_conformance.
#pragma once

#include <gmock/gmock.h>

#include <chrono>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mortise/mortise.hpp"
#include "support/child_process.hpp"
#include "support/stopwatch.hpp"
#include "support/watchdog.hpp"

namespace mortise::conformance {

// Opens one more connection to a place where leases are kept. Every connection sees the same leases (C21).
using Connect = std::function<std::shared_ptr<LockStore>()>;

struct StoreFactory {
  std::string name;               // in the names of the tests
  std::function<Connect()> make;  // a new, empty place
  bool wakes_waiters = false;     // a waiter that sleeps is granted long before its retry_delay is over
  bool shared_between_processes = false;   // a forked child may connect, and sees the same leases
  bool dead_holder_freed_at_once = false;  // a lease ends with its process
};

void PrintTo(const StoreFactory& factory, std::ostream* out);
std::string name_of(const testing::TestParamInfo<StoreFactory>& info);

// One empty place for each test.
class StoreTest : public testing::TestWithParam<StoreFactory> {
 protected:
  [[nodiscard]] std::shared_ptr<LockStore> connect() const { return connect_(); }

  // A handle on a connection of its own, so that two of them have nothing in common but the store.
  [[nodiscard]] Lock handle(LockKey key, Ttl ttl = std::chrono::seconds(20)) const {
    return mortise::lock(std::move(key), ttl, connect());
  }

  // Can somebody else have the key? Gives back at once what it got.
  [[nodiscard]] bool is_free(LockKey key) const {
    return handle(std::move(key), std::chrono::seconds(20)).acquire_immediately();
  }

  // A handle on several keys of one letter each.
  [[nodiscard]] LockGroup group_of(const std::string& letters, Ttl ttl = std::chrono::seconds(20)) const {
    return lock_all(keys_of(letters), ttl, connect());
  }
  // Those of the keys that somebody holds.
  [[nodiscard]] std::string held_of(const std::string& letters) const {
    std::string held;
    for (const LockKey& key : keys_of(letters)) held += is_free(key) ? "" : std::string(key.bytes());
    return held;
  }

  // Waits that are granted by a wake-up where the store has them, and by looking again where it has not.
  [[nodiscard]] static AcquireOptions patiently(std::stop_token stop = {}) {
    return {.timeout = std::chrono::seconds(30), .retry_delay = retry_delay(), .stop = std::move(stop)};
  }
  [[nodiscard]] static WaitTime retry_delay() {
    if (GetParam().wakes_waiters) return std::chrono::seconds(20);
    return std::chrono::milliseconds(5);
  }

 private:
  [[nodiscard]] static std::vector<LockKey> keys_of(const std::string& letters) {
    std::vector<LockKey> keys;
    for (const char& letter : letters) keys.emplace_back(std::string_view(&letter, 1));
    return keys;
  }

  test::Watchdog watchdog_;
  Connect connect_ = GetParam().make();
};

// With the threads of one process.
class Conformance : public StoreTest {};

// With forked children.
class ProcessConformance : public StoreTest {
 protected:
  void SetUp() override;

  // Another process that holds the key, says "granted" or "refused", and goes on holding it until it is told
  // to end.
  [[nodiscard]] test::ChildProcess holder(LockKey key, Ttl ttl = std::chrono::seconds(20)) const;
  // Another process that waits for the key, says "waiting" before and "granted" or "refused" after, and ends.
  [[nodiscard]] test::ChildProcess waiter(LockKey key, AcquireOptions options) const;
  // The same question as is_free, asked by another process.
  [[nodiscard]] bool is_free_elsewhere(LockKey key) const;
  // Whatever happened before: the lock is held by this process, and can be extended and released.
  void expect_held(Lock& lock) const;
};

}  // namespace mortise::conformance
