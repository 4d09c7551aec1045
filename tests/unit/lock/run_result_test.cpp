// What run() answers.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "mortise/lock.hpp"

namespace mortise {
namespace {

TEST(RunResult, OfAValueBindsAsTwo) {
  auto [ran, result] = RunResult<int>(42, false);
  EXPECT_TRUE(ran);
  EXPECT_EQ(result, 42);
}

TEST(RunResult, NotGrantedBindsAsFalseAndNothing) {
  auto [ran, result] = RunResult<std::string>::not_granted();
  EXPECT_FALSE(ran);
  EXPECT_EQ(result, std::nullopt);
}

TEST(RunResult, NotGrantedIsNotLost) {
  EXPECT_FALSE(RunResult<int>::not_granted().lost());
  EXPECT_FALSE(RunResult<void>::not_granted().lost());
}

TEST(RunResult, OfAMoveOnlyValueIsMovedOut) {
  RunResult<std::unique_ptr<int>> run(std::make_unique<int>(42), false);
  std::optional<std::unique_ptr<int>> result = std::move(run).result();
  ASSERT_TRUE(result);
  EXPECT_EQ(**result, 42);
}

TEST(RunResult, ThatIsKeptBindsToCopies) {
  const RunResult<std::string> run("text", false);
  const auto& [ran, result] = run;
  EXPECT_TRUE(ran);
  EXPECT_EQ(result, "text");
  EXPECT_EQ(run.result(), "text");
}

TEST(RunResult, OfVoidBindsAsOne) {
  const auto [ran] = RunResult<void>(true, false);
  EXPECT_TRUE(ran);
  auto [refused] = RunResult<void>::not_granted();
  EXPECT_FALSE(refused);
}

TEST(RunResult, OfAReferenceRefersToTheSameObject) {
  std::string object = "before";
  RunResult<std::string&> run(object, false);
  run.result()->get() = "after";
  EXPECT_EQ(object, "after");
}

TEST(RunResult, TellsARefusalFromAFalseResult) {
  const RunResult<bool> run(false, false);
  EXPECT_TRUE(run);
  EXPECT_EQ(run.result(), false);
}

TEST(RunResult, TellsThatTheLeaseWasLostThoughTheFunctionRan) {
  const RunResult<int> run(42, true);
  EXPECT_TRUE(run);
  EXPECT_TRUE(run.lost());
  EXPECT_EQ(run.result(), 42);
  EXPECT_TRUE(RunResult<void>(true, true).lost());
}

}  // namespace
}  // namespace mortise
