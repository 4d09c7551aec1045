// Keys, tokens and times: what they accept, and what they refuse (C18, C19).
#include "mortise/types.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <climits>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "mortise/errors.hpp"

namespace mortise {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::ThrowsMessage;

using DoubleSeconds = std::chrono::duration<double>;
using DoubleMilliseconds = std::chrono::duration<double, std::milli>;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(LockKey, C18_TakesOneToItsMaximumOfBytes) {
  for (const std::size_t size : {1U, 8U, 63U, 64U, 65U, 1023U, 1024U}) {
    const std::string bytes(size, 'k');
    EXPECT_EQ(LockKey(bytes).bytes(), bytes);
    EXPECT_EQ(LockKey(bytes).size(), size);
  }
}

TEST(LockKey, C18_RefusesAnEmptyAndATooLongOne) {
  EXPECT_THROW(LockKey(""), std::invalid_argument);
  EXPECT_THROW(LockKey(std::string_view()), std::invalid_argument);
  for (const std::size_t size : {1025U, 4096U, 1000000U}) {
    EXPECT_THAT([&] { LockKey(std::string(size, 'k')); },
                ThrowsMessage<std::invalid_argument>(HasSubstr("1024")))
        << "the limit is to be named";
  }
  std::string letters_of_two_bytes;
  for (int i = 0; i < 513; ++i) letters_of_two_bytes += "\u00e4";
  EXPECT_THROW(LockKey{letters_of_two_bytes}, std::invalid_argument) << "bytes count, not letters";
}

TEST(LockKey, C18_IsComparedByteByByte) {
  EXPECT_EQ(LockKey("job"), LockKey("job"));
  EXPECT_FALSE(LockKey("job") == LockKey("Job"));
  EXPECT_FALSE(LockKey("job") == LockKey("job "));
  EXPECT_FALSE(LockKey(std::string_view("job\0", 4)) == LockKey("job"));
  EXPECT_FALSE(LockKey(std::string(100, 'a')) == LockKey(std::string(99, 'a') + 'b'));
}

TEST(LockKey, IsCopiedAndMovedWhole) {
  for (const std::size_t size : {1U, 64U, 65U, 1024U}) {
    const std::string bytes(size, 'k');
    LockKey key(bytes);
    LockKey copy = key;
    EXPECT_EQ(copy, key);
    LockKey moved = std::move(key);
    EXPECT_EQ(moved.bytes(), bytes);
    LockKey other("other");
    other = copy;
    EXPECT_EQ(other.bytes(), bytes);
    other = std::move(moved);
    EXPECT_EQ(other.bytes(), bytes);
    const LockKey& same = other;
    other = same;
    EXPECT_EQ(other.bytes(), bytes);
  }
}

TEST(LockKey, PadsItsWordsWithZeros) {
  EXPECT_EQ(LockKey("a").words().size(), 1U);
  EXPECT_EQ(LockKey(std::string(65, '\xff')).words().size(), 9U);
  EXPECT_EQ(
      LockKey(std::string(65, '\xff')).words().back() & (std::numeric_limits<std::uint64_t>::max() << 8U),
      0U);
}

TEST(Ttl, C19_IsRoundedUpToAMillisecond) {
  EXPECT_EQ(Ttl(1ns).milliseconds(), 1ms);
  EXPECT_EQ(Ttl(1ms).milliseconds(), 1ms);
  EXPECT_EQ(Ttl(1001us).milliseconds(), 2ms);
  EXPECT_EQ(Ttl(DoubleMilliseconds(0.4)).milliseconds(), 1ms);
  EXPECT_EQ(Ttl(DoubleMilliseconds(123.45)).milliseconds(), 124ms);
  EXPECT_EQ(Ttl(DoubleSeconds(0.9)).milliseconds(), 900ms);
  EXPECT_EQ(Ttl(2h).milliseconds(), 7200s);
  EXPECT_EQ(Ttl(std::chrono::duration<unsigned char, std::ratio<3600>>(255)).milliseconds(), 255h);
  EXPECT_EQ(Ttl(24h * 365).milliseconds(), 24h * 365);
}

TEST(Ttl, C19_RefusesZeroNegativeAndNaN) {
  EXPECT_THROW(Ttl(0ms), std::invalid_argument);
  EXPECT_THROW(Ttl(-1ms), std::invalid_argument);
  EXPECT_THROW(Ttl(-1ns), std::invalid_argument);
  EXPECT_THROW(Ttl(std::chrono::duration<int, std::milli>(INT_MIN)), std::invalid_argument);
  EXPECT_THROW(Ttl(std::chrono::hours::min()), std::invalid_argument);
  EXPECT_THROW(Ttl(DoubleSeconds(kNaN)), std::invalid_argument);
  EXPECT_THROW(Ttl(DoubleSeconds(-kInfinity)), std::invalid_argument);
  EXPECT_THROW(Ttl(DoubleSeconds(-0.0)), std::invalid_argument);
}

TEST(Ttl, C19_RefusesMoreThanAYearAndNeverOverflows) {
  EXPECT_THROW(Ttl(24h * 365 + 1ms), std::invalid_argument);
  EXPECT_THROW(Ttl(24h * 365 + 1ns), std::invalid_argument);
  EXPECT_THROW(Ttl(std::chrono::nanoseconds::max()), std::invalid_argument);
  EXPECT_THROW(Ttl(std::chrono::milliseconds::max()), std::invalid_argument);
  EXPECT_THROW(Ttl(std::chrono::hours::max()), std::invalid_argument);
  EXPECT_THROW(Ttl(DoubleSeconds(1e300)), std::invalid_argument);
  EXPECT_THROW(Ttl(DoubleSeconds(kInfinity)), std::invalid_argument);
}

TEST(WaitTime, C13_BelowZeroIsZeroAndTooLongIsForEver) {
  EXPECT_TRUE(WaitTime(0ms).is_zero());
  EXPECT_TRUE(WaitTime(-1ms).is_zero());
  EXPECT_TRUE(WaitTime(std::chrono::hours::min()).is_zero());
  EXPECT_TRUE(WaitTime(DoubleSeconds(-kInfinity)).is_zero());
  EXPECT_EQ(WaitTime(1ns).nanoseconds(), 1ns);
  EXPECT_EQ(WaitTime(DoubleSeconds(0.5)).nanoseconds(), 500ms);
  EXPECT_EQ(WaitTime(std::chrono::hours::max()).nanoseconds(), std::chrono::nanoseconds::max());
  EXPECT_EQ(WaitTime(DoubleSeconds(kInfinity)).nanoseconds(), std::chrono::nanoseconds::max());
  EXPECT_THROW(WaitTime(DoubleSeconds(kNaN)), std::invalid_argument);
}

TEST(OwnerToken, C03_IsDrawnAnewEachTimeInEveryThread) {
  constexpr std::size_t kThreads = 8;
  constexpr std::size_t kDraws = 1000;
  std::vector<std::vector<std::uint64_t>> drawn(kThreads);
  {
    std::vector<std::jthread> threads;
    for (auto& mine : drawn) {
      threads.emplace_back([&mine] {
        for (std::size_t i = 0; i < kDraws; ++i) mine.push_back(OwnerToken::generate().as_number());
      });
    }
  }
  std::set<std::uint64_t> all;
  for (const auto& mine : drawn) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), kThreads * kDraws);
  EXPECT_GE(*all.begin(), OwnerToken::kMin);
  EXPECT_LE(*all.rbegin(), OwnerToken::kMax);
}

TEST(OwnerToken, RefusesNumbersThatAreNone) {
  EXPECT_EQ(OwnerToken::from_number(OwnerToken::kMin).as_number(), OwnerToken::kMin);
  EXPECT_EQ(OwnerToken::from_number(OwnerToken::kMax).as_number(), OwnerToken::kMax);
  EXPECT_THROW(OwnerToken::from_number(0), std::invalid_argument);
  EXPECT_THROW(OwnerToken::from_number(OwnerToken::kMin - 1), std::invalid_argument);
  EXPECT_THROW(OwnerToken::from_number(OwnerToken::kMax + 1), std::invalid_argument);
}

TEST(StoreError, SaysWhatFailedAndWhatToDo) {
  const StoreError error(StoreErrc::no_space, "make room");
  EXPECT_EQ(error.code(), StoreErrc::no_space);
  EXPECT_STREQ(error.code().category().name(), "mortise");
  EXPECT_THAT(error.what(), HasSubstr("make room"));
}

TEST(StoreErrc, HasAMessageOfItsOwnForEachCode) {
  std::set<std::string> messages;
  constexpr int kCodes = static_cast<int>(StoreErrc::bad_answer);
  for (int code = 1; code <= kCodes; ++code) messages.insert(store_category().message(code));
  EXPECT_EQ(messages.size(), static_cast<std::size_t>(kCodes));
  EXPECT_THAT(store_category().message(kCodes + 1), HasSubstr(std::to_string(kCodes + 1)));
}

}  // namespace
}  // namespace mortise
