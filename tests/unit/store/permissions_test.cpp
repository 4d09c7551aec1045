// Segments that this user may not use, and segments that another user may.
#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <tuple>

#include "mortise/mortise.hpp"
#include "support/child_outcomes.hpp"
#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"
#include "support/watchdog.hpp"

namespace mortise {
namespace {

using namespace std::chrono_literals;
using test::Channel;
using test::ChildProcess;

constexpr uid_t kNobody = 65534;

// The user who may read or write everything cannot be refused anything: a test that wants to be, becomes
// another one.
void stop_being_root() {
  if (geteuid() == 0 && seteuid(kNobody) != 0) _exit(1);
}

class Permissions : public testing::Test {
 protected:
  Permissions() { std::filesystem::permissions(directory.path(), std::filesystem::perms(0755)); }

  // What another user gets who opens the segment and uses it.
  [[nodiscard]] std::string answer_for_another_user() const {
    ChildProcess user([&](Channel& test) {
      stop_being_root();
      test.send(test::outcome_of([&] {
        Lock lock = mortise::lock("k", 20s, std::make_shared<ShmLockStore>(path));
        if (!lock.acquire_immediately() || !lock.release()) throw std::runtime_error("refused");
      }));
    });
    return user.receive();
  }

  test::Watchdog watchdog;
  test::TemporaryDirectory directory;
  std::string path = directory.file("segment");
};

TEST_F(Permissions, SegmentThatMayNotBeOpenedIsDenied) {
  std::ignore = ShmLockStore(path);
  for (const unsigned mode : {0000U, 0400U, 0444U, 0200U}) {
    std::filesystem::permissions(path, std::filesystem::perms(mode));
    EXPECT_EQ(answer_for_another_user(), "permission denied") << std::oct << mode;
  }
}

TEST_F(Permissions, DirectoryThatMayNotBeWrittenIsDenied) {
  std::filesystem::permissions(directory.path(), std::filesystem::perms(0555));
  EXPECT_EQ(answer_for_another_user(), "permission denied");
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST_F(Permissions, DirectoryThatMayNotBeSearchedIsDenied) {
  std::ignore = ShmLockStore(path, {.mode = 0666});
  std::filesystem::permissions(directory.path(), std::filesystem::perms(0600));
  EXPECT_EQ(answer_for_another_user(), "permission denied");
}

TEST_F(Permissions, ReadOnlyFileSystemIsDenied) {
  ChildProcess user([&](Channel& test) {
    if (!test::has_private_mounts()) return test.send("no private mounts here");
    if (mount("none", directory.path().c_str(), "tmpfs", MS_RDONLY, "") != 0)
      return test.send("no tmpfs here");
    test.send(test::outcome_of([&] { ShmLockStore{path}; }));
  });
  const std::string answer = user.receive();
  if (answer.find("here") != std::string::npos) GTEST_SKIP() << answer;
  EXPECT_EQ(answer, "permission denied");
}

TEST_F(Permissions, SegmentThatIsSharedOnPurposeIsShared) {
  std::ignore = ShmLockStore(path, {.mode = 0666});
  EXPECT_EQ(answer_for_another_user(), "no error");
}

TEST_F(Permissions, LeaseIsHandedOverToAnotherUserInAnotherDirectory) {
  const auto store = std::make_shared<ShmLockStore>(path, SegmentOptions{.mode = 0666});
  Lock lock = mortise::lock("k", 20s, store);
  ASSERT_TRUE(lock.acquire_immediately());
  const std::string text = lock.serialize();
  ChildProcess user([&](Channel& test) {
    stop_being_root();
    if (chdir("/") != 0) _exit(1);
    Lock restored = restore_lock(text, std::make_shared<ShmLockStore>(path));
    restored.extend(60s);
    test.send(restored.release() ? "released" : "lost");
  });
  EXPECT_EQ(user.receive(), "released");
  EXPECT_FALSE(store->is_locked("k"));
}

// One's own default segment is not taken from another user who made a file of its name first.
TEST_F(Permissions, FileOfAnotherUserIsRefusedWhenOnlyTheOwnIsWanted) {
  std::ignore = ShmLockStore(path, {.mode = 0666});
  EXPECT_NO_THROW(ShmLockStore(path, {.only_own_file = true}));
  if (geteuid() != 0) GTEST_SKIP() << "only root can be two users";
  ChildProcess user([&](Channel& test) {
    stop_being_root();
    test.send(test::outcome_of([&] { ShmLockStore(path, {.only_own_file = true}); }));
  });
  EXPECT_EQ(user.receive(), "permission denied");
}

}  // namespace
}  // namespace mortise
