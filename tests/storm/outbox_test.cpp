#include "outbox.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace mortise::storm {
namespace {

using namespace std::chrono_literals;

TEST(Outbox, LetterIsTakenOnceAsItWasPut) {
  Outbox outbox;
  EXPECT_FALSE(outbox.take());
  ASSERT_TRUE(outbox.put({5, 7, 3s, "mortise:1:..."}));
  const auto letter = outbox.take();
  ASSERT_TRUE(letter);
  EXPECT_EQ(letter->lease, 5U);
  EXPECT_EQ(letter->key, 7U);
  EXPECT_EQ(letter->certain_until, 3s);
  EXPECT_EQ(letter->text, "mortise:1:...");
  EXPECT_FALSE(outbox.take());
}

TEST(Outbox, FullOneRefusesAndKeepsWhatItHas) {
  Outbox outbox;
  ASSERT_TRUE(outbox.put({1, 1, 1s, "first"}));
  EXPECT_FALSE(outbox.put({2, 2, 2s, "second"}));
  EXPECT_EQ(outbox.take()->text, "first");
  EXPECT_TRUE(outbox.put({2, 2, 2s, "second"}));
}

TEST(Outbox, TextThatIsTooLongIsRefused) {
  Outbox outbox;
  EXPECT_FALSE(outbox.put({1, 1, 1s, std::string(Outbox::kLongestText + 1, 'x')}));
  EXPECT_FALSE(outbox.take());
  EXPECT_TRUE(outbox.put({1, 1, 1s, std::string(Outbox::kLongestText, 'x')}));
}

TEST(Outbox, ManyTakersGetEveryLetterOnceAndWhole) {
  constexpr LeaseId kLetters = 2'000;
  Outbox outbox;
  std::vector<std::atomic<int>> taken(kLetters + 1);
  std::atomic<LeaseId> total = 0;
  std::vector<std::jthread> takers;
  for (int i = 0; i < 3; ++i) {
    takers.emplace_back([&] {
      while (total < kLetters) {
        const auto letter = outbox.take();
        if (!letter) {
          std::this_thread::yield();
          continue;
        }
        EXPECT_EQ(letter->text, std::string(letter->lease % 50, static_cast<char>('a' + letter->lease % 26)));
        ++taken[letter->lease];
        ++total;
      }
    });
  }
  for (LeaseId lease = 1; lease <= kLetters; ++lease) {
    while (!outbox.put({lease, 0, 0s, std::string(lease % 50, static_cast<char>('a' + lease % 26))}))
      std::this_thread::yield();
  }
  takers.clear();
  for (LeaseId lease = 1; lease <= kLetters; ++lease) ASSERT_EQ(taken[lease], 1) << lease;
}

}  // namespace
}  // namespace mortise::storm
