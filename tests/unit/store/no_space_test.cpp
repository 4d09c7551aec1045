// No room for a segment, or room that others take afterwards: an error when it is opened, and never a SIGBUS.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <functional>
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
using test::outcome_of;

class NoSpace : public testing::Test {
 protected:
  // What `body` says in a process for which the directory is a tmpfs of that size.
  std::string on_a_tmpfs(const std::string& size, const std::function<std::string()>& body) {
    ChildProcess user([&](Channel& test) {
      const bool mounted = test::has_private_mounts() &&
                           mount("none", directory.path().c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
      test.send(mounted ? body() : kNoTmpfs);
    });
    return user.receive();
  }
  static bool fill(const std::string& path) {
    const int file = open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    const std::array<char, 4096> block{};
    while (write(file, block.data(), block.size()) > 0) continue;
    close(file);
    return errno == ENOSPC;
  }

  static constexpr const char* kNoTmpfs = "the kernel gives this user no private tmpfs";
  test::Watchdog watchdog;
  test::TemporaryDirectory directory;
  std::string path = directory.file("segment");
};

TEST_F(NoSpace, G4_ForTheSegmentIsAnErrorThatLeavesNothingBehind) {
  for (const char* size : {"4k", "64k", "1m"}) {
    const std::string answer = on_a_tmpfs(size, [&]() -> std::string {
      const std::string outcome = outcome_of([&] { ShmLockStore{path}; });
      if (!std::filesystem::is_empty(directory.path())) return "something was left behind";
      return outcome;
    });
    if (answer == kNoTmpfs) GTEST_SKIP() << answer;
    EXPECT_EQ(answer, "no space") << size;
  }
}

TEST_F(NoSpace, ForALargeSegmentLeavesRoomForASmallOne) {
  const std::string answer = on_a_tmpfs("1m", [&]() -> std::string {
    const std::string large = outcome_of([&] { ShmLockStore{path}; });
    const std::string small = outcome_of([&] { ShmLockStore(path, {.slots = 64, .processes = 8}); });
    return large + ", " + small;
  });
  if (answer == kNoTmpfs) GTEST_SKIP() << answer;
  EXPECT_EQ(answer, "no space, no error");
}

TEST_F(NoSpace, G4_ThatCameAfterTheSegmentWasMadeHarmsNobody) {
  const std::string answer = on_a_tmpfs("2m", [&]() -> std::string {
    const auto store = std::make_shared<ShmLockStore>(path, SegmentOptions{.slots = 1024});
    if (!fill(directory.file("other"))) return "could not be filled";
    for (int i = 0; i < 4000; ++i) {
      const LockKey key(std::to_string(i) + std::string(static_cast<std::size_t>(i) % 1000, '_'));
      if (!mortise::lock(key, 20s, store).acquire_immediately()) return "refused";
    }
    return "went on";
  });
  if (answer == kNoTmpfs) GTEST_SKIP() << answer;
  EXPECT_EQ(answer, "went on");
}

TEST_F(NoSpace, WithinTheLimitOfAFilesSizeIsAnError) {
  ChildProcess user([&](Channel& test) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{16384, 16384};
    setrlimit(RLIMIT_FSIZE, &limit);
    test.send(outcome_of([&] { ShmLockStore{path}; }));
  });
  EXPECT_EQ(user.receive(), "no space");
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST_F(NoSpace, ForAnotherFileDescriptorIsAnError) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer's own look at an exception opens a pipe";
#endif
  ChildProcess user([&](Channel& test) {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_NOFILE, &none);
    test.send(outcome_of([&] { ShmLockStore{path}; }));
  });
  EXPECT_EQ(user.receive(), "cannot open the store");
}

}  // namespace
}  // namespace mortise
