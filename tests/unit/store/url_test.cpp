#include "store/url.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace mortise::store {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Pair;
using testing::ThrowsMessage;

const Url kUrl = split_url("x:y?z=1");

TEST(Url, IsSplitIntoItsParts) {
  const Url url = split_url("a+b://host:1/p?x=1&y=");
  EXPECT_EQ(url.scheme, "a+b");
  EXPECT_EQ(url.body, "//host:1/p");
  EXPECT_THAT(url.options, testing::ElementsAre(Pair("x", "1"), Pair("y", "")));
}

TEST(Url, NumberIsDecimalAndModeOctal) {
  EXPECT_EQ(number_value(kUrl, "z", "0123"), 123U);
  EXPECT_EQ(octal_value(kUrl, "z", "0640"), 0640U);
  for (const char* wrong : {"", "-1", "1x", " 1", "4294967296"})
    EXPECT_THAT([&] { number_value(kUrl, "z", wrong); },
                ThrowsMessage<std::invalid_argument>(HasSubstr("\"z\"")));
}

TEST(Url, DurationHasAUnit) {
  EXPECT_EQ(duration_value(kUrl, "z", "500ms"), 500ms);
  EXPECT_EQ(duration_value(kUrl, "z", "2s"), 2s);
  EXPECT_EQ(duration_value(kUrl, "z", "1440m"), 24h);
  for (const char* wrong : {"", "5", "ms", "0s", "-1s", "1h", "1.5s", "1441m", "99999999999999s", "2s "})
    EXPECT_THROW(duration_value(kUrl, "z", wrong), std::invalid_argument) << wrong;
}

TEST(Url, SwitchIsOnOrOff) {
  EXPECT_TRUE(switch_value(kUrl, "z", "1"));
  EXPECT_FALSE(switch_value(kUrl, "z", "0"));
  EXPECT_THROW(switch_value(kUrl, "z", "yes"), std::invalid_argument);
}

TEST(Url, PercentBeginsTwoHexadecimalDigits) {
  EXPECT_EQ(percent_decoded(kUrl, "a%2fb%2Fc%25"), "a/b/c%");
  for (const char* wrong : {"%", "%4", "%4x", "%00", "a%zz", "%+1"})
    EXPECT_THROW(percent_decoded(kUrl, wrong), std::invalid_argument) << wrong;
}

}  // namespace
}  // namespace mortise::store
