// restore_lock() takes what serialize() made, and nothing else (C20).
#include <gmock/gmock.h>

#include <array>
#include <boost/crc.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>

#include "mortise/mortise.hpp"
#include "support/map_lock_store.hpp"

namespace mortise {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::ThrowsMessage;

class RestoreLock : public testing::Test {
 protected:
  std::string text_of(LockKey key) {
    Lock lock = mortise::lock(std::move(key), 20s, store);
    EXPECT_TRUE(lock.acquire_immediately());
    return lock.serialize();
  }
  void expect_refused(std::string_view text) {
    EXPECT_THROW(std::ignore = restore_lock(text, store), std::invalid_argument)
        << testing::PrintToString(text);
  }

  std::shared_ptr<LockStore> store = std::make_shared<test::MapLockStore>();
};

TEST_F(RestoreLock, C20_TakesWhatSerializeMadeForEveryKey) {
  std::string every_byte;
  for (int byte = 0; byte < 256; ++byte) every_byte.push_back(static_cast<char>(byte));
  for (const std::string& key :
       {std::string("k"), every_byte, std::string(1024, '\xff'), std::string(1, '\0')}) {
    EXPECT_EQ(restore_lock(text_of(LockKey(key)), store).key().bytes(), key);
  }
}

TEST_F(RestoreLock, C20_RefusesATextThatWasCut) {
  const std::string text = text_of("invoice:42");
  for (std::size_t size = 0; size < text.size(); ++size) expect_refused(text.substr(0, size));
  for (std::size_t size = 1; size < text.size(); ++size) expect_refused(text.substr(size));
}

TEST_F(RestoreLock, C20_RefusesATextWithAnyByteChanged) {
  const std::string text = text_of("invoice:42");
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = text;
      changed[i] = static_cast<char>(byte);
      if (changed != text) expect_refused(changed);
    }
  }
}

TEST_F(RestoreLock, C20_RefusesATextWithAByteTooManyOrTooFew) {
  const std::string text = text_of("invoice:42");
  for (std::size_t i = 0; i <= text.size(); ++i) {
    for (const char byte : {'\0', '\n', ' ', '0', 'a', ':'}) {
      std::string longer = text;
      longer.insert(i, 1, byte);
      expect_refused(longer);
    }
    std::string shorter = text;
    if (i < text.size()) expect_refused(shorter.erase(i, 1));
  }
  expect_refused(text + text);
}

TEST_F(RestoreLock, C20_RefusesTwoBytesExchanged) {
  const std::string text = text_of("invoice:42");
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (std::size_t j = i + 1; j < text.size(); ++j) {
      std::string changed = text;
      std::swap(changed[i], changed[j]);
      if (changed != text) expect_refused(changed);
    }
  }
}

TEST_F(RestoreLock, C20_RefusesNoise) {
  std::minstd_rand random;
  for (int i = 0; i < 5000; ++i) {
    std::string noise(random() % 100, '\0');
    for (char& byte : noise) byte = static_cast<char>(random());
    expect_refused(noise);
    expect_refused("mortise:1:" + noise);
  }
}

TEST_F(RestoreLock, C20_NamesAnotherVersion) {
  std::string text = text_of("k");
  ASSERT_THAT(text, testing::StartsWith("mortise:1:"));
  text.replace(0, 10, "mortise:27:");
  EXPECT_THAT([&] { std::ignore = restore_lock(text, store); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("27")));
}

// The text with its checksum made right again: made by somebody who knows the format.
std::string with_checksum(const std::string& fields) {
  boost::crc_32_type crc;
  crc.process_bytes(fields.data(), fields.size());
  std::array<char, 9> hex{};
  std::snprintf(hex.data(), hex.size(), "%08x", static_cast<unsigned>(crc.checksum()));
  return fields + hex.data();
}

TEST_F(RestoreLock, C20_RefusesValuesThatNoLeaseHasThoughTheChecksumIsRight) {
  const std::string token = "00000000000000ff";
  const std::string key = "6b";
  ASSERT_EQ(restore_lock(with_checksum("mortise:1:1000:7:" + token + ":" + key + ":"), store).key(),
            LockKey("k"));
  for (const std::string ttl :
       {"", "0", "-1", "31536000001", "99999999999999999999", "1e3", " 1000", "01000"}) {
    expect_refused(with_checksum("mortise:1:" + ttl + ":7:" + token + ":" + key + ":"));
  }
  for (const std::string fence : {"", "-1", "18446744073709551616", "7x", "007"}) {
    expect_refused(with_checksum("mortise:1:1000:" + fence + ":" + token + ":" + key + ":"));
  }
  for (const std::string owner :
       {"", "0000000000000000", "0000000000000001", "8000000000000000", "ffffffffffffffff",
        "00000000000000FF", "ff", "000000000000000000ff", "00000000000000fg"}) {
    expect_refused(with_checksum("mortise:1:1000:7:" + owner + ":" + key + ":"));
  }
  for (const std::string& name : {std::string(), std::string("6"), std::string("6B"), std::string("6g"),
                                  std::string("+1"), std::string(2050, '6')}) {
    expect_refused(with_checksum("mortise:1:1000:7:" + token + ":" + name + ":"));
  }
  expect_refused(with_checksum("mortise:1:1000:7:" + token + ":" + key + ":more:"));
}

TEST_F(RestoreLock, C20_RefusalChangesNothing) {
  Lock lock = mortise::lock("k", 20s, store);
  ASSERT_TRUE(lock.acquire_immediately());
  std::string text = lock.serialize();
  text.back() = text.back() == '0' ? '1' : '0';
  expect_refused(text);
  EXPECT_TRUE(lock.release());
}

TEST_F(RestoreLock, C20_RefusalDoesNotRepeatTheSecret) {
  const std::string token = "0123456789abcdef";
  const std::string text = with_checksum("mortise:1:1000:7:" + token + ":6b:");
  EXPECT_THAT([&] { std::ignore = restore_lock(text + "x", store); },
              ThrowsMessage<std::invalid_argument>(testing::Not(HasSubstr(token))));
}

}  // namespace
}  // namespace mortise
