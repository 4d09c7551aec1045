// run(): C11, C12.
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>

#include "conformance/conformance.hpp"

namespace mortise::conformance {
namespace {

using namespace std::chrono_literals;

TEST_P(Conformance, C11_RunHoldsTheKeyMeanwhileAndReleasesOnReturn) {
  Lock lock = handle("k");
  bool free_inside = true;
  const auto result = lock.run_immediately([&] { free_inside = is_free("k"); });
  EXPECT_TRUE(result);
  EXPECT_FALSE(result.lost());
  EXPECT_FALSE(free_inside);
  EXPECT_TRUE(is_free("k"));
}

TEST_P(Conformance, C11_RunGivesTheResult) {
  auto [ran, result] = handle("k").run([] { return 42; });
  EXPECT_TRUE(ran);
  EXPECT_EQ(result, 42);
}

TEST_P(Conformance, C11_RunGivesAMoveOnlyResult) {
  auto [ran, result] = handle("k").run([] { return std::make_unique<int>(42); });
  ASSERT_TRUE(ran);
  EXPECT_EQ(**result, 42);
}

TEST_P(Conformance, C11_RunGivesAReferenceToTheSameObject) {
  int object = 1;
  auto [ran, result] = handle("k").run([&]() -> int& { return object; });
  ASSERT_TRUE(ran);
  EXPECT_EQ(&result->get(), &object);
}

TEST_P(Conformance, C11_RunBindsAsOneNameForAVoidFunction) {
  bool called = false;
  auto [ran] = handle("k").run([&] { called = true; });
  EXPECT_TRUE(ran);
  EXPECT_TRUE(called);
}

TEST_P(Conformance, C11_ResultThatIsFalseIsNotARefusal) {
  const auto result = handle("k").run([] { return false; });
  EXPECT_TRUE(result);
  EXPECT_EQ(result.result(), false);
}

TEST_P(Conformance, C11_FunctionMayTakeTheLock) {
  Lock lock = handle("k");
  auto [ran, same] = lock.run([&](Lock& inner) {
    inner.extend(60s);
    return &inner == &lock;
  });
  EXPECT_TRUE(ran);
  EXPECT_EQ(same, true);
}

TEST_P(Conformance, C11_RunReleasesOnThrowAndLeavesTheExceptionAsItIs) {
  struct Mine {
    int number;
  };
  Lock lock = handle("k");
  try {
    std::ignore = lock.run([]() -> int { throw Mine{7}; });
    ADD_FAILURE() << "the exception is lost";
  } catch (const Mine& mine) {
    EXPECT_EQ(mine.number, 7);
  }
  EXPECT_TRUE(is_free("k"));
  EXPECT_FALSE(lock.is_expired());
}

TEST_P(Conformance, C11_ResultStandsWhenTheLeaseWasLostMeanwhile) {
  Lock thief = handle("k");
  const auto result = handle("k", 1ms).run([&] {
    EXPECT_TRUE(thief.acquire(patiently()));
    return 42;
  });
  EXPECT_TRUE(result);
  EXPECT_EQ(result.result(), 42);
  EXPECT_TRUE(result.lost());
  EXPECT_TRUE(thief.release()) << "run released a lease that was not its own";
}

TEST_P(Conformance, C11_VoidFunctionsRunCanBeLostToo) {
  const auto result = handle("k", 1ms).run([] { std::this_thread::sleep_for(20ms); });
  EXPECT_TRUE(result);
  EXPECT_TRUE(result.lost());
}

TEST_P(Conformance, C11_ExceptionStandsWhenTheLeaseWasLostMeanwhile) {
  const auto fn = []() -> int {
    std::this_thread::sleep_for(20ms);
    throw std::runtime_error("mine");
  };
  EXPECT_THAT([&] { std::ignore = handle("k", 1ms).run(fn); },
              testing::ThrowsMessage<std::runtime_error>(testing::StrEq("mine")));
}

TEST_P(Conformance, C11_HandleRunsAgain) {
  Lock lock = handle("k");
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(lock.run([] {}));
}

TEST_P(Conformance, C12_FunctionIsNotCalledWithoutAGrant) {
  Lock holder = handle("k");
  ASSERT_TRUE(holder.acquire_immediately());
  int calls = 0;
  const auto fn = [&] { return ++calls; };
  Lock lock = handle("k");
  const auto waited = lock.run(fn, {.timeout = 50ms});
  EXPECT_FALSE(waited);
  EXPECT_FALSE(waited.lost());
  EXPECT_EQ(waited.result(), std::nullopt);
  auto [ran, result] = lock.run_immediately(fn);
  EXPECT_FALSE(ran);
  EXPECT_EQ(result, std::nullopt);
  EXPECT_EQ(calls, 0);
  EXPECT_FALSE(holder.is_expired());
}

TEST_P(Conformance, C12_RunOnAHandleThatHoldsIsRefusedAndHarmsNothing) {
  Lock lock = handle("k");
  ASSERT_TRUE(lock.acquire_immediately());
  bool called = false;
  EXPECT_FALSE(lock.run([&] { called = true; }));
  EXPECT_FALSE(called);
  EXPECT_TRUE(lock.release());
}

TEST_P(Conformance, C12_RefusedHandleReleasesAndExtendsNothing) {
  Lock holder = handle("k");
  ASSERT_TRUE(holder.acquire_immediately());
  {
    Lock lock = handle("k");
    EXPECT_FALSE(lock.acquire({.timeout = 20ms}));
    EXPECT_FALSE(lock.release());
    EXPECT_THROW(lock.extend(), LockNotHeldError);
  }
  EXPECT_FALSE(is_free("k"));
  EXPECT_TRUE(holder.release());
}

}  // namespace
}  // namespace mortise::conformance
