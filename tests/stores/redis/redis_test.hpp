// What the tests of the Redis store have in common.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <vector>

#include "mortise/mortise.hpp"
#include "mortise/redis_lock_store.hpp"
#include "stores/redis/redis_server.hpp"
#include "support/eventually.hpp"
#include "support/stopwatch.hpp"
#include "support/watchdog.hpp"

namespace mortise::test {

using namespace std::chrono_literals;

// How long an operation of the stores in these tests may take, and what it is at its most on a busy machine.
constexpr auto kTimeout = 300ms;
constexpr auto kShort = "?timeout=300ms&connect_timeout=200ms";

// The code of the StoreError that `call` throws; no code: it throws none.
template <class Call>
std::error_code code_of(Call&& call) {
  try {
    call();
  } catch (const StoreError& error) {
    return error.code();
  }
  return {};
}

// Every way to ask a store for something. Each must end with a StoreError, in time.
inline void expect_failure_in_time(Lock& lock, const std::vector<StoreErrc>& codes) {
  const auto expect = [&](const char* what, std::chrono::nanoseconds limit, const auto& call) {
    const Stopwatch watch;
    const std::error_code code = code_of(call);
    EXPECT_TRUE(std::any_of(codes.begin(), codes.end(), [&](StoreErrc each) { return code == each; }))
        << what << " ends with: " << code.message();
    EXPECT_LT(watch.elapsed(), limit + kTimeout + 5 * kSlack) << what;
  };
  bool called = false;
  expect("acquire", 0s, [&] { std::ignore = lock.acquire_immediately(); });
  expect("a wait", 200ms, [&] { std::ignore = lock.acquire({.timeout = 200ms}); });
  expect("run", 0s, [&] { std::ignore = lock.run([&] { called = true; }); });
  expect("is_locked", 0s, [&] { std::ignore = lock.is_locked(); });
  expect("remaining_time", 0s, [&] { std::ignore = lock.remaining_time(); });
  EXPECT_FALSE(called) << "C12";
}

// The same of a handle that holds its lease.
inline void expect_holder_fails_in_time(Lock& lock, const std::vector<StoreErrc>& codes) {
  const auto expect = [&](const char* what, const auto& call) {
    const Stopwatch watch;
    const std::error_code code = code_of(call);
    EXPECT_TRUE(std::any_of(codes.begin(), codes.end(), [&](StoreErrc each) { return code == each; }))
        << what << " ends with: " << code.message();
    EXPECT_LT(watch.elapsed(), kTimeout + 5 * kSlack) << what;
  };
  expect("extend", [&] { lock.extend(); });
  expect("is_expired", [&] { std::ignore = lock.is_expired(); });
  expect("release", [&] { lock.release(); });
}

}  // namespace mortise::test
