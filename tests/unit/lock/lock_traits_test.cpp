// What the compiler must and must not accept. The one test at the end is that this file compiles.
#include <gtest/gtest.h>

#include <chrono>
#include <concepts>
#include <memory>
#include <ostream>
#include <string>
#include <type_traits>

#include "mortise/mortise.hpp"
#include "support/map_lock_store.hpp"

namespace mortise {
namespace {

using namespace std::chrono_literals;

// A handle is one lease: it moves, and never doubles.
static_assert(!std::is_copy_constructible_v<Lock> && !std::is_copy_assignable_v<Lock>);
static_assert(std::is_nothrow_move_constructible_v<Lock> && std::is_nothrow_move_assignable_v<Lock>);
static_assert(std::is_nothrow_destructible_v<Lock> && std::is_nothrow_swappable_v<Lock>);
static_assert(!std::is_default_constructible_v<Lock>);

static_assert(std::is_nothrow_move_constructible_v<LockKey> && std::is_copy_constructible_v<LockKey>);

// A token is neither a number nor a text, and cannot be printed by accident.
template <class T>
concept Printable = requires(std::ostream& out, const T& value) {
  out << value;
};
static_assert(!Printable<OwnerToken>);
static_assert(Printable<Lock>);
static_assert(!std::is_convertible_v<std::uint64_t, OwnerToken> &&
              !std::is_convertible_v<OwnerToken, std::uint64_t>);
static_assert(!std::is_convertible_v<LockKey, OwnerToken> && !std::is_convertible_v<const char*, OwnerToken>);
static_assert(!std::is_default_constructible_v<OwnerToken> && !std::is_default_constructible_v<Ttl>);

// A ttl has a unit.
static_assert(!std::is_convertible_v<int, Ttl>);
static_assert(std::is_invocable_r_v<Lock, decltype(lock), const char*>);
static_assert(std::is_invocable_r_v<Lock, decltype(lock), std::string_view, std::chrono::duration<double>>);
static_assert(!std::is_invocable_v<decltype(lock), const char*, int>);
static_assert(Ttl(1us).milliseconds() == 1ms);

// A refusal is never taken for a number.
static_assert(!std::is_convertible_v<RunResult<int>, bool> && std::is_constructible_v<bool, RunResult<int>>);
static_assert(!std::is_convertible_v<RunResult<void>, bool> &&
              std::is_constructible_v<bool, RunResult<void>>);
static_assert(std::tuple_size_v<RunResult<int>> == 2 && std::tuple_size_v<RunResult<void>> == 1);
static_assert(std::is_same_v<std::tuple_element_t<1, RunResult<std::unique_ptr<int>>>,
                             std::optional<std::unique_ptr<int>>>);
static_assert(std::is_same_v<RunResult<int&>::Value, std::reference_wrapper<int>>);
static_assert(std::is_same_v<RunResult<const std::string>::Value, std::string>);

static_assert(std::is_base_of_v<std::system_error, StoreError>);
static_assert(!std::is_base_of_v<StoreError, LockNotHeldError> &&
              !std::is_base_of_v<LockNotHeldError, StoreError>);
static_assert(std::is_error_code_enum_v<StoreErrc>);

static_assert(!std::is_copy_constructible_v<LockStore> && std::has_virtual_destructor_v<LockStore>);
static_assert(std::is_abstract_v<LockStore>);

// Both mean mortise's, though a chrono argument brings std's functions along.
TEST(LockTraits, UnqualifiedLockIsFoundInThePresenceOfStdLock) {
  const auto store = std::make_shared<test::MapLockStore>();
  Lock here = lock("k", 30s, store);
  EXPECT_TRUE(here.acquire_immediately());
  EXPECT_TRUE(store->is_locked("k"));
}

}  // namespace
}  // namespace mortise
