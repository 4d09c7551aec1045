// Which keys are the same: C18.
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conformance/conformance.hpp"

namespace mortise::conformance {
namespace {

using namespace std::string_view_literals;

std::string repeated(std::string_view letter, std::size_t bytes) {
  std::string text;
  while (text.size() + letter.size() <= bytes) text += letter;
  return text + std::string(bytes - text.size(), '_');
}

class DistinctKeys {
 public:
  DistinctKeys(std::function<Lock(const LockKey&)> handle, std::vector<std::string> keys)
      : handle_(std::move(handle)), keys_(std::move(keys)) {}

  // Holds them all, and asks for all of them, while each of them is released in turn.
  void play() {
    std::vector<Lock> held;
    for (const std::string& key : keys_) {
      held.push_back(handle_(LockKey(key)));
      EXPECT_TRUE(held.back().acquire_immediately()) << testing::PrintToString(key);
      EXPECT_EQ(held.back().key().bytes(), key);
    }
    for (std::size_t released = 0; released < keys_.size(); ++released) {
      EXPECT_TRUE(held[released].release());
      for (std::size_t i = 0; i < keys_.size(); ++i) {
        EXPECT_EQ(handle_(LockKey(keys_[i])).acquire_immediately(), i <= released)
            << testing::PrintToString(keys_[i]);
      }
    }
  }

 private:
  std::function<Lock(const LockKey&)> handle_;
  std::vector<std::string> keys_;
};

TEST_P(Conformance, C18_KeysOfEveryLengthAreToldApartByTheirLastByte) {
  for (const std::size_t size :
       {1, 2, 7, 8, 9, 24, 25, 63, 64, 65, 87, 88, 89, 127, 128, 215, 216, 217, 255, 256, 1023, 1024}) {
    for (const std::string_view letter : {"a"sv, "\u00e4"sv, "\U0001f512"sv}) {
      const std::string prefix = repeated(letter, size - 1);
      DistinctKeys([&](const LockKey& key) { return handle(key); }, {prefix + "1", prefix + "2"}).play();
    }
  }
}

TEST_P(Conformance, C18_KeyAndItsPrefixAreTwoKeys) {
  for (const std::size_t size : {2, 8, 9, 24, 25, 64, 65, 88, 89, 216, 217, 1024}) {
    const std::string key = repeated("a", size);
    DistinctKeys([&](const LockKey& same) { return handle(same); },
                 {key, key.substr(0, size - 1), key.substr(0, size - 1) + '\0'})
        .play();
  }
}

TEST_P(Conformance, C18_KeysAreComparedByteByByte) {
  DistinctKeys([&](const LockKey& key) { return handle(key); },
               {"Job:A", "job:a", "job:a ", " job:a", "job:\u00e4", "job:a\u0308", "JOB:A", "job:a\t"})
      .play();
}

TEST_P(Conformance, C18_KeysNeedNotBeNamesOfAnything) {
  DistinctKeys(
      [&](const LockKey& key) { return handle(key); },
      {"/", "a/", "/a", "../../etc/x", ".", "a\nb", std::string("a\0b", 3), "a", "-x", "--help", "*", "a b",
       "\x1b[31mred", "\xff\xfe", std::string(300, 'n'), std::string(1, '\0'), std::string(2, '\0')})
      .play();
}

TEST_P(Conformance, C18_EveryByteIsAKey) {
  std::vector<Lock> held;
  for (int byte = 0; byte < 256; ++byte) {
    held.push_back(handle(LockKey(std::string(1, static_cast<char>(byte)))));
    EXPECT_TRUE(held.back().acquire_immediately()) << byte;
  }
}

TEST_P(Conformance, C18_HandleKeepsAKeyOfItsOwn) {
  std::string name = "before";
  Lock lock = handle(LockKey(name));
  ASSERT_TRUE(lock.acquire_immediately());
  name = "after!";
  EXPECT_EQ(lock.key(), LockKey("before"));
  EXPECT_TRUE(is_free("after!"));
  EXPECT_FALSE(is_free("before"));
}

}  // namespace
}  // namespace mortise::conformance
