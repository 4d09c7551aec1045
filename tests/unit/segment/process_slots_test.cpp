#include "segment/process_slots.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <vector>

#include "segment/segment.hpp"
#include "support/child_process.hpp"

namespace mortise::segment {
namespace {

using test::Channel;
using test::ChildProcess;

void forget_nothing(ProcessSlot) {}

class ProcessSlotsTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kSlots = 4;
  std::shared_ptr<Segment> segment_ =
      Segment::anonymous({.fingerprint = 1,
                          .slots = 64,
                          .processes = kSlots,
                          .guard = Guard::robust_mutex,
                          .body_bytes = 4096,
                          .make_body = [](const Header&, std::byte*) { return true; },
                          .highest_fence = {}});
  [[nodiscard]] ProcessSlots& slots() const { return segment_->processes(); }

  // A child that has attached, and says with what result.
  [[nodiscard]] ChildProcess attached_child() const {
    return ChildProcess([this](Channel& parent) {
      const auto slot = slots().attach(forget_nothing);
      parent.send(slot ? std::to_string(*slot) : "none");
      (void)parent.receive();
    });
  }
};

TEST_F(ProcessSlotsTest, AProcessHasOne) {
  const auto slot = slots().attach(forget_nothing);
  ASSERT_TRUE(slot);
  EXPECT_EQ(slots().attach(forget_nothing), slot);
  EXPECT_TRUE(slots().is_alive(*slot));
  EXPECT_EQ(slots().info(*slot).pid, getpid());
  EXPECT_EQ(slots().info(*slot).command, "unit_segment");
}

TEST_F(ProcessSlotsTest, AChildHasItsOwn) {
  const auto mine = slots().attach(forget_nothing);
  ChildProcess child = attached_child();
  const std::string childs = child.receive();
  ASSERT_NE(childs, "none");
  EXPECT_NE(childs, std::to_string(*mine));
  EXPECT_EQ(slots().info(static_cast<ProcessSlot>(std::stoi(childs))).pid, child.pid());
}

TEST_F(ProcessSlotsTest, TheDeadAreDeadAtOnceAndTheStoppedAreNot) {
  ChildProcess child = attached_child();
  const auto slot = static_cast<ProcessSlot>(std::stoi(child.receive()));
  child.stop();
  EXPECT_TRUE(slots().is_alive(slot));
  child.signal(SIGKILL);
  child.await_death();
  EXPECT_FALSE(slots().is_alive(slot));
}

TEST_F(ProcessSlotsTest, AChildThatNeverAttachedDoesNotKeepItsParentAlive) {
  ChildProcess parent_of_sleeper([this](Channel& test) {
    const auto slot = slots().attach(forget_nothing);
    ChildProcess sleeper([&](Channel& parent) {
      prctl(PR_SET_PDEATHSIG, 0);  // it outlives its parent, until the end of the test
      parent.send("running");
      test.await_end();
    });
    (void)sleeper.receive();
    test.send(std::to_string(*slot));
    (void)test.receive();
  });
  const auto slot = static_cast<ProcessSlot>(std::stoi(parent_of_sleeper.receive()));
  EXPECT_TRUE(slots().is_alive(slot));
  parent_of_sleeper.kill();
  EXPECT_FALSE(slots().is_alive(slot));
}

TEST_F(ProcessSlotsTest, FullIsFull) {
  std::vector<ChildProcess> children;
  for (std::uint32_t i = 0; i < kSlots; ++i) {
    children.push_back(attached_child());
    EXPECT_NE(children.back().receive(), "none");
  }
  EXPECT_EQ(slots().attach(forget_nothing), std::nullopt);
  children.front().kill();
  EXPECT_TRUE(slots().attach(forget_nothing));
}

TEST_F(ProcessSlotsTest, AReusedSlotIsForgottenFirst) {
  std::vector<ProcessSlot> before;
  for (std::uint32_t i = 0; i < kSlots; ++i) {
    ChildProcess child = attached_child();
    before.push_back(static_cast<ProcessSlot>(std::stoi(child.receive())));
    child.kill();
  }
  std::vector<ProcessSlot> forgotten;
  bool alive_meanwhile = false;
  const auto slot = slots().attach([&](ProcessSlot dead) {
    forgotten.push_back(dead);
    alive_meanwhile = slots().is_alive(dead);
  });
  ASSERT_TRUE(slot);
  EXPECT_EQ(forgotten, std::vector{*slot});
  EXPECT_FALSE(alive_meanwhile) << "the lock byte has a new owner, but the old process is no less dead";
}

TEST_F(ProcessSlotsTest, ASlotThatDoesNotExistIsDead) {
  EXPECT_FALSE(slots().is_alive(kSlots));
  EXPECT_FALSE(slots().info(kSlots).alive);
}

}  // namespace
}  // namespace mortise::segment
