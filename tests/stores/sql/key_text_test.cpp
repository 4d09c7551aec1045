#include "store/sql/key_text.hpp"

#include <gmock/gmock.h>

#include <string>
#include <utility>

namespace mortise::sql {
namespace {

using namespace std::string_literals;

TEST(KeyText, PlainKeysAreTheirOwnText) {
  for (const std::string& key :
       {"a"s, "job:\u00e4"s, "\U0001f512"s, " "s, "\n"s, "\\"s, "\\y"s, "x\\x"s, "\xef\xbf\xbf"s})
    EXPECT_EQ(text_of(LockKey(key)), key);
}

TEST(KeyText, C18_KeysThatAreNoTextAreHexadecimal) {
  const std::pair<std::string, std::string> pairs[] = {{"\0"s, "\\x00"},
                                                       {"a\0b"s, "\\x610062"},
                                                       {"\xff"s, "\\xff"},
                                                       {"\xc0\x80"s, "\\xc080"},
                                                       {"\xed\xa0\x80"s, "\\xeda080"},
                                                       {"\xf4\x90\x80\x80"s, "\\xf4908080"},
                                                       {"\xc3"s, "\\xc3"},
                                                       {"\xe2\x82"s, "\\xe282"},
                                                       {"\x80"s, "\\x80"},
                                                       {"\xe0\x80\xaf"s, "\\xe080af"},
                                                       {"a\xf0\x9f\x94"s, "\\x61f09f94"}};
  for (const auto& [key, text] : pairs) EXPECT_EQ(text_of(LockKey(key)), text);
}

TEST(KeyText, C18_PlainKeyIsNeverTheTextOfAnother) {
  EXPECT_EQ(text_of("\\x00"), "\\x5c783030");
  EXPECT_EQ(text_of("\\x"), "\\x5c78");
}

TEST(KeyText, EveryTextLeadsBackToItsKey) {
  for (const std::string& key :
       {"a"s, "\0"s, "\\x00"s, "\\x"s, "\xff\xfe"s, std::string(1024, '\xff'), std::string(1024, 'k')})
    EXPECT_EQ(key_of(text_of(LockKey(key))), LockKey(key));
}

TEST(KeyText, TextsOfOtherProgramsMayBeNoKey) {
  for (const std::string& text : {""s, "\\x"s, "\\x0"s, "\\xzz"s, "\\x61"s, "\\xFF"s, std::string(1025, 'k')})
    EXPECT_EQ(key_of(text), std::nullopt) << text;
}

}  // namespace
}  // namespace mortise::sql
