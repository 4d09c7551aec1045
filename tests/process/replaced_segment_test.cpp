// The file of a segment is removed or replaced while processes use it: they are told, before two tables of
// one name have been in use for long.
#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "mortise/mortise.hpp"
#include "support/child_outcomes.hpp"
#include "support/child_process.hpp"
#include "support/stopwatch.hpp"
#include "support/temporary_directory.hpp"
#include "support/watchdog.hpp"

namespace mortise::test {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class ReplacedSegment : public testing::TestWithParam<bool> {
 protected:
  [[nodiscard]] std::shared_ptr<LockStore> open() const { return std::make_shared<ShmLockStore>(path); }
  void another_process_makes_one(const std::string& at) const {
    ChildProcess other([&](Channel&) {
      if (!lock("k", 1h, std::make_shared<ShmLockStore>(at)).acquire_immediately()) _exit(1);
    });
    ASSERT_EQ(other.wait(), 0);
  }
  // What an acquire says in the end, of a key that the table knows or of new ones.
  [[nodiscard]] static std::string outcome(const std::shared_ptr<LockStore>& store) {
    const Stopwatch watch;
    for (int i = 0; watch.elapsed() < 20s; ++i) {
      const std::string said = outcome_of([&] {
        std::ignore = lock(GetParam() ? "k" : "new" + std::to_string(i), 1s, store).acquire_immediately();
      });
      if (said != "no error") return said;
      std::this_thread::sleep_for(1ms);
    }
    return "nothing for a long time";
  }
  void expect_told(const std::function<void()>& replace) const {
    const auto store = open();
    ASSERT_TRUE(lock("k", 1s, store).acquire_immediately());
    replace();
    EXPECT_EQ(outcome(store), "segment was replaced");
    EXPECT_EQ(outcome(store), "segment was replaced") << "it stays so";
    EXPECT_TRUE(lock("other", 1s, open()).acquire_immediately()) << "who opens it again has the new one";
  }

  const Watchdog watchdog;
  const TemporaryDirectory directory;
  const std::string path = directory.file("segment");
};

TEST_P(ReplacedSegment, ThatWasRemovedIsNoticed) {
  expect_told([&] { fs::remove(path); });
}

TEST_P(ReplacedSegment, ThatWasRemovedAndMadeAnewIsNoticed) {
  expect_told([&] {
    fs::remove(path);
    another_process_makes_one(path);
  });
}

TEST_P(ReplacedSegment, ThatAnotherWasMovedOverIsNoticed) {
  expect_told([&] {
    another_process_makes_one(path + ".other");
    fs::rename(path + ".other", path);
  });
}

TEST_P(ReplacedSegment, ThatWasMovedAwayAndMadeAnewIsNoticed) {
  expect_told([&] {
    fs::rename(path, path + ".old");
    another_process_makes_one(path);
  });
}

TEST_P(ReplacedSegment, UnderAWaiterIsNoticed) {
  const auto store = open();
  Lock held = lock("k", 1h, store);
  ASSERT_TRUE(held.acquire_immediately());
  fs::remove(path);
  EXPECT_EQ(outcome_of([&] { std::ignore = lock("k", 1s, store).acquire({.timeout = 30s}); }),
            "segment was replaced");
  EXPECT_TRUE(held.release()) << "the lease is still the holder's to release";
}

// A program that changes its root sees nothing at the old path.
TEST_P(ReplacedSegment, ThatCannotBeSeenAnyMoreIsUsedOn) {
  ChildProcess user([&](Channel& test) {
    const auto store = open();
    std::ignore = lock("k", 1s, store).acquire_immediately();
    const std::string empty = directory.file("root");
    fs::create_directory(empty);
    if (chroot(empty.c_str()) != 0 || chdir("/") != 0) return test.send("no chroot here");
    std::this_thread::sleep_for(1500ms);
    test.send(outcome_of([&] { std::ignore = lock("k", 1s, store).acquire_immediately(); }));
  });
  const std::string answer = user.receive();
  if (answer == "no chroot here") GTEST_SKIP() << answer;
  EXPECT_EQ(answer, "no error");
}

INSTANTIATE_TEST_SUITE_P(, ReplacedSegment, testing::Bool(), [](const auto& each) {
  return each.param ? std::string("KnownKey") : std::string("NewKey");
});

}  // namespace
}  // namespace mortise::test
