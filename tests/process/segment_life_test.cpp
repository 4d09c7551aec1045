// A segment in use: who comes and goes neither removes it nor makes it anew, and ends no lease but his own.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <tuple>

#include "mortise/mortise.hpp"
#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"
#include "support/watchdog.hpp"

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

class SegmentLife : public testing::Test {
 protected:
  [[nodiscard]] std::shared_ptr<LockStore> open(const SegmentOptions& options = {}) const {
    return std::make_shared<ShmLockStore>(path, options);
  }
  // Asked by a process that opens the segment for this question only.
  [[nodiscard]] bool is_free(const LockKey& key) const {
    ChildProcess asking(
        [&](Channel&) { _exit(mortise::lock(key, 20s, open()).acquire_immediately() ? 0 : 1); });
    const int answer = asking.wait();
    EXPECT_LE(answer, 1);
    return answer == 0;
  }
  [[nodiscard]] ino_t inode() const {
    struct stat status {};
    EXPECT_EQ(stat(path.c_str(), &status), 0);
    return status.st_ino;
  }

  Watchdog watchdog;
  TemporaryDirectory directory;
  std::string path = directory.file("segment");
};

// The maker, somebody who will exit and somebody who will be killed end in every order.
class OrderOfEnds : public SegmentLife, public testing::WithParamInterface<bool> {};

TEST_P(OrderOfEnds, G2_NobodysEndHarmsTheOthers) {
  const bool handed_over = GetParam();
  std::array<std::size_t, 3> order = {0, 1, 2};
  do {
    std::filesystem::remove(path);
    ChildProcess maker([&](Channel& test) {
      Lock lock = mortise::lock("k", 20s, open());
      if (!lock.acquire_immediately()) _exit(1);
      test.send(handed_over ? lock.serialize() : "granted");
      std::ignore = test.receive();
    });
    const std::string text = maker.receive();
    const auto guest = [&](Channel& test) {
      Lock lock = mortise::lock("k", 20s, open());
      test.send(lock.acquire_immediately() ? "granted" : "refused");
      std::ignore = test.receive();
    };
    ChildProcess exits(guest);
    ChildProcess is_killed(guest);
    ASSERT_EQ(exits.receive(), "refused");
    ASSERT_EQ(is_killed.receive(), "refused");
    const ino_t before = inode();

    bool maker_lives = true;
    for (const std::size_t next : order) {
      if (next == 0) {
        maker.send("exit");
        EXPECT_EQ(maker.wait(), 0);
        maker_lives = false;
      } else if (next == 1) {
        exits.send("exit");
        EXPECT_EQ(exits.wait(), 0);
      } else {
        is_killed.kill();
      }
      EXPECT_EQ(is_free("k"), !handed_over && !maker_lives);
      EXPECT_TRUE(is_free("n"));
      EXPECT_EQ(inode(), before);
    }
    EXPECT_EQ(handed_over && restore_lock(text, open()).release(), handed_over);
    EXPECT_TRUE(is_free("k"));
  } while (std::next_permutation(order.begin(), order.end()));
}

INSTANTIATE_TEST_SUITE_P(, OrderOfEnds, testing::Bool(), [](const auto& each) {
  return each.param ? std::string("LeaseHandedOver") : std::string("LeaseBound");
});

TEST_F(SegmentLife, OpeningItAgainAndAgainCostsNothing) {
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto first = open();
  EXPECT_TRUE(mortise::lock("k", 20s, first).acquire_immediately());
  const auto before = descriptors();
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(mortise::lock("k", 20s, open()).acquire_immediately());
  EXPECT_EQ(descriptors(), before);
}

TEST_F(SegmentLife, OneThatIsFullOfProcessesRefusesTheNextAndHarmsNobody) {
  const SegmentOptions for_one{.processes = 1};
  ChildProcess first([&](Channel& test) {
    Lock lock = mortise::lock("k", 20s, open(for_one));
    test.send(lock.acquire_immediately() ? "granted" : "refused");
    std::ignore = test.receive();
    test.send(lock.release() ? "released" : "lost");
    std::ignore = test.receive();
  });
  ASSERT_EQ(first.receive(), "granted");
  const auto attempt = [&] {
    ChildProcess second([&](Channel& test) {
      try {
        test.send(mortise::lock("other", 20s, open()).acquire_immediately() ? "granted" : "refused");
      } catch (const StoreError& error) {
        test.send(error.code() == StoreErrc::too_many_processes ? "too many processes" : error.what());
      }
    });
    return second.receive();
  };
  EXPECT_EQ(attempt(), "too many processes");
  first.send("release it");
  EXPECT_EQ(first.receive(), "released");
  EXPECT_EQ(attempt(), "too many processes") << "it is still attached";
  first.kill();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(attempt(), "granted") << "a dead process leaves its place";
}

}  // namespace
}  // namespace mortise::test
