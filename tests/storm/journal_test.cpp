#include "journal.hpp"

#include <gmock/gmock.h>
#include <signal.h>

#include "support/child_process.hpp"
#include "support/shared.hpp"

namespace mortise::storm {
namespace {

using test::Channel;
using test::ChildProcess;
using test::Shared;

TEST(Journal, CallsAreThereInTheirOrderWithTheirTimes) {
  const Shared<Journal> journal;
  const Time begin = now();
  for (const KeyIndex key : {7U, 8U}) {
    Operation* call = journal->invoke({.kind = Kind::acquire, .key = key});
    ASSERT_NE(call, nullptr);
    Journal::finish(*call, Result::yes, key * 10);
  }
  const auto calls = journal->read();
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].key, 7U);
  EXPECT_EQ(calls[1].fence, 80U);
  EXPECT_TRUE(calls[1].is_grant());
  EXPECT_LE(begin, calls[0].invoked);
  EXPECT_LE(calls[0].invoked, calls[0].returned);
  EXPECT_LE(calls[0].returned, calls[1].invoked);
  EXPECT_LE(calls[1].returned, now());
}

TEST(Journal, KilledWriterLeavesWholeCallsAndOneThatIsOpen) {
  const Shared<Journal> journal;
  ChildProcess writer([&](Channel&) {
    Journal::finish(*journal->invoke({.kind = Kind::extend, .lease = 1}), Result::no);
    journal->invoke({.kind = Kind::release, .lease = 2});
    raise(SIGKILL);
  });
  EXPECT_EQ(writer.wait(), 128 + SIGKILL);
  const auto calls = journal->read();
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_FALSE(calls[0].is_open());
  EXPECT_EQ(calls[0].result, Result::no);
  EXPECT_TRUE(calls[1].is_open());
  EXPECT_EQ(calls[1].lease, 2U);
}

TEST(Journal, AnswerWithoutItsTimeCountsForNothing) {
  const Shared<Journal> journal;
  journal->invoke({.kind = Kind::acquire})->result = Result::yes;
  EXPECT_FALSE(journal->read().front().is_grant());
}

TEST(Journal, NextWriterGoesOnWhereTheLastOneStopped) {
  const Shared<Journal> journal;
  for (const ProcessNumber process : {0U, 1U}) {
    ChildProcess writer([&](Channel&) { journal->invoke({.process = process}); });
    ASSERT_EQ(writer.wait(), 0);
  }
  ASSERT_EQ(journal->read().size(), 2U);
  EXPECT_EQ(journal->read()[1].process, 1U);
  ASSERT_NE(journal->last(), nullptr);
  EXPECT_EQ(journal->last()->process, 1U);
  EXPECT_EQ(Journal::returned_so_far(*journal->last()), kNever);
}

TEST(Journal, FullJournalTakesNoMoreUntilItIsCleared) {
  const Shared<Journal> journal;
  EXPECT_EQ(journal->last(), nullptr);
  for (std::size_t i = 0; i < Journal::kCapacity; ++i) ASSERT_NE(journal->invoke({}), nullptr);
  EXPECT_EQ(journal->invoke({}), nullptr);
  EXPECT_EQ(journal->read().size(), Journal::kCapacity);
  journal->clear();
  EXPECT_TRUE(journal->read().empty());
  EXPECT_NE(journal->invoke({}), nullptr);
}

}  // namespace
}  // namespace mortise::storm
