#include <gtest/gtest.h>

#include "channel.hpp"

namespace with_lock {
namespace {

using Message = Channel::Message;

TEST(Channel, LastWordsAreHeardThoughTheOtherHadNotReadEverything) {
  auto [ours, theirs] = Channel::make();
  ours.send({Message::Kind::signal, 15, false});
  theirs.send({Message::Kind::ended, 9, true});
  theirs.close();
  const auto last = ours.receive();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->kind, Message::Kind::ended);
  EXPECT_EQ(last->value, 9);
  EXPECT_TRUE(last->lease_was_lost);
  EXPECT_FALSE(ours.receive());
}

TEST(Channel, DeathIsHeardWithoutLastWordsToo) {
  for (const bool something_was_unread : {false, true}) {
    auto [ours, theirs] = Channel::make();
    if (something_was_unread) ours.send({Message::Kind::signal, 15, false});
    theirs.close();
    EXPECT_FALSE(ours.receive());
  }
}

}  // namespace
}  // namespace with_lock
