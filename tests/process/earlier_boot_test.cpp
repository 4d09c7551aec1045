// A segment that outlived a boot, as on a disk: its leases are over, for their processes are gone, and its
// fencing numbers go on. A boot is another boot id, laid over the kernel's in a mount namespace of its own.
#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "mortise/mortise.hpp"
#include "support/child_outcomes.hpp"
#include "support/child_process.hpp"
#include "support/shared.hpp"
#include "support/temporary_directory.hpp"
#include "support/watchdog.hpp"

namespace mortise::test {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr const char* kNoMounts = "the kernel gives this user no private mounts";

class EarlierBoot : public testing::Test {
 protected:
  void SetUp() override {
    ChildProcess trying([&](Channel&) { _exit(boot("1") ? 0 : 1); });
    if (trying.wait() != 0) GTEST_SKIP() << kNoMounts;
  }

  // From here on this process lives in another boot.
  [[nodiscard]] bool boot(const std::string& name) const {
    const std::string id = directory.file("boot-" + name);
    std::ofstream(id) << "00000000-0000-0000-0000-00000000000" << name << '\n';
    return has_private_mounts() &&
           mount(id.c_str(), "/proc/sys/kernel/random/boot_id", nullptr, MS_BIND, nullptr) == 0;
  }
  // What `body` says, run in a process of that boot.
  std::string in_boot(const std::string& name, const std::function<std::string()>& body) const {
    ChildProcess user([&](Channel& test) { test.send(boot(name) ? body() : kNoMounts); });
    return user.receive();
  }
  [[nodiscard]] std::shared_ptr<LockStore> open(const SegmentOptions& options = {}) const {
    return std::make_shared<ShmLockStore>(path, options);
  }
  // Leaves a lease of a dead process, one that was handed over, and says the fence of the second.
  std::uint64_t leave_leases() const {
    return std::stoull(in_boot("1", [&] {
      const auto store = open({.slots = 64, .processes = 8, .mode = 0640});
      Lock bound = lock("bound", 1h, store);
      Lock handed_over = lock("handed over", 1h, store);
      if (!bound.acquire_immediately() || !handed_over.acquire_immediately()) _exit(1);
      std::ignore = handed_over.serialize();
      return std::to_string(handed_over.fencing_token());
    }));
  }
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(fs::path(path).parent_path()))
      names.push_back(entry.path().filename());
    return names;
  }

  const Watchdog watchdog;
  const TemporaryDirectory directory;
  const TemporaryDirectory segments;
  const std::string path = segments.file("segment");
};

TEST_F(EarlierBoot, LeasesAreOverAndFencesGoOn) {
  const std::uint64_t fence = leave_leases();
  const std::string answer = in_boot("2", [&] {
    const auto store = open();
    Lock bound = lock("bound", 1h, store);
    Lock handed_over = lock("handed over", 1h, store);
    if (!bound.acquire_immediately() || !handed_over.acquire_immediately()) return std::string("held");
    return std::to_string(handed_over.fencing_token());
  });
  ASSERT_NE(answer, "held");
  EXPECT_GT(std::stoull(answer), fence);
  EXPECT_EQ(files(), std::vector<std::string>{"segment"});
}

TEST_F(EarlierBoot, TheSegmentKeepsItsSizeAndItsMode) {
  leave_leases();
  const auto size = fs::file_size(path);
  ASSERT_EQ(in_boot("2", [&] { return outcome_of([&] { std::ignore = open(); }); }), "no error");
  EXPECT_EQ(fs::file_size(path), size);
  EXPECT_EQ(fs::status(path).permissions(), fs::perms(0640));
}

TEST_F(EarlierBoot, TheSegmentStaysItsOwners) {
  leave_leases();
  if (chown(path.c_str(), 65534, 65534) != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(in_boot("2", [&] { return outcome_of([&] { std::ignore = open(); }); }), "no error");
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 65534U);
  EXPECT_EQ(status.st_gid, 65534U);
}

TEST_F(EarlierBoot, AViewRefusesItAndLeavesItAlone) {
  leave_leases();
  EXPECT_EQ(in_boot("2", [&] { return outcome_of([&] { open_view("shm:" + path); }); }),
            "incompatible segment");
  EXPECT_EQ(in_boot("1", [&] { return std::string(open()->is_locked("handed over") ? "held" : "free"); }),
            "held");
}

// Some containers see a boot id of their own, and yet share their boot with the others.
TEST_F(EarlierBoot, ASegmentInUseIsNotOfAnEarlierBoot) {
  ChildProcess user([&](Channel& test) {
    Lock held = lock("k", 1h, open());
    test.send(boot("1") && held.acquire_immediately() ? "holds" : "no");
    std::ignore = test.receive();
    test.send(held.release() ? "released" : "lost");
  });
  ASSERT_EQ(user.receive(), "holds");
  EXPECT_EQ(in_boot("2", [&] { return outcome_of([&] { std::ignore = open(); }); }),
            "segment of another namespace");
  user.send("go on");
  EXPECT_EQ(user.receive(), "released");
}

TEST_F(EarlierBoot, ManyWhoOpenItAtOnceFindOneSuccessor) {
  constexpr int kProcesses = 8;
  for (int round = 0; round < 10; ++round) {
    fs::remove(path);
    leave_leases();
    std::vector<ChildProcess> users;
    for (int i = 0; i < kProcesses; ++i) {
      users.emplace_back([&, i](Channel& test) {
        if (!boot("2")) _exit(1);
        test.send("ready");
        std::ignore = test.receive();
        Lock mine = lock(std::to_string(i), 1h, open());
        test.send(mine.acquire_immediately() ? "granted" : "refused");
        std::ignore = test.receive();
        int seen = 0;
        for (int j = 0; j < kProcesses; ++j) seen += lock(std::to_string(j), 1s, open()).is_locked() ? 1 : 0;
        test.send(std::to_string(seen));
        std::ignore = test.receive();
      });
    }
    const auto all_say = [&](const std::string& expected) {
      for (const ChildProcess& user : users) EXPECT_EQ(user.receive(), expected);
      for (const ChildProcess& user : users) user.send("go on");
    };
    all_say("ready");
    all_say("granted");
    all_say(std::to_string(kProcesses));
    EXPECT_EQ(files(), std::vector<std::string>{"segment"});
  }
}

TEST_F(EarlierBoot, ACopyOfASegmentThatHasASuccessorIsRefused) {
  leave_leases();
  const std::string hard_link = directory.file("old");
  fs::create_hard_link(path, hard_link);
  ASSERT_EQ(in_boot("2", [&] { return outcome_of([&] { std::ignore = open(); }); }), "no error");
  fs::rename(hard_link, path);
  EXPECT_EQ(in_boot("2", [&] { return outcome_of([&] { std::ignore = open(); }); }), "corrupt segment");
}

}  // namespace
}  // namespace mortise::test
