// The first use of a segment, and the first after a boot, interrupted between any two instructions: there is
// no file, or a whole one, and nothing else.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "crash/findings.hpp"
#include "crash/points.hpp"
#include "crash/segment_file.hpp"
#include "crash/soundness.hpp"
#include "crash/survivors.hpp"
#include "crash/table_image.hpp"
#include "crash/tracee.hpp"
#include "mortise/mortise.hpp"
#include "support/child_outcomes.hpp"
#include "support/child_process.hpp"
#include "support/shared.hpp"
#include "support/temporary_directory.hpp"
#include "support/watchdog.hpp"

namespace mortise::crash {
namespace {

using test::Channel;
using test::ChildProcess;

#if defined(__SANITIZE_ADDRESS__)
constexpr Density kDensity{.near = 0, .spread = 20};
#else
constexpr Density kDensity{.near = 1, .spread = 100};
#endif

constexpr Ttl kLong = std::chrono::seconds(60);

std::shared_ptr<LockStore> open_small(const std::string& path) {
  return std::make_shared<ShmLockStore>(path, SegmentOptions{.slots = 64, .processes = 8});
}

// A segment of an earlier boot, without its name.
class OldSegment {
 public:
  OldSegment() {
    ChildProcess maker([this](Channel&) {
      if (!unshare_boot() || !mortise::lock("a", kLong, open_small(path_)).acquire()) _exit(1);
    });
    if (maker.wait() != 0) std::filesystem::remove(path_);
  }
  // False: the kernel gives this user no mounts of his own.
  [[nodiscard]] bool exists() const { return std::filesystem::exists(path_); }
  void copy_to(const std::string& path) const { std::filesystem::copy_file(path_, path); }

 private:
  [[nodiscard]] bool unshare_boot() const {
    const std::string id = directory_.file("boot");
    std::ofstream(id) << "00000000-0000-0000-0000-000000000001\n";
    return test::has_private_mounts() &&
           mount(id.c_str(), "/proc/sys/kernel/random/boot_id", nullptr, MS_BIND, nullptr) == 0;
  }
  test::TemporaryDirectory directory_;
  std::string path_ = directory_.file("segment");
};

// A process that makes the segment of an empty directory, or the successor of one of an earlier boot.
class Maker {
 public:
  explicit Maker(const OldSegment* predecessor) {
    if (predecessor != nullptr) predecessor->copy_to(path_);
  }
  [[nodiscard]] Tracee& victim() noexcept { return victim_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] bool exists() const { return inode() != 0; }
  // 0: there is no file of that name.
  [[nodiscard]] ino_t inode() const {
    struct stat status {};
    return stat(path_.c_str(), &status) == 0 ? status.st_ino : 0;
  }
  // What it saw at the end: somebody else's lease in the segment that it had opened.
  [[nodiscard]] bool sees_leases_of_others() const { return *sees_leases_of_others_; }

  // One that is killed next to the swap that names the successor may leave it behind.
  [[nodiscard]] Findings findings(bool may_litter = false) const {
    Findings findings;
    int litter = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      if (entry.path() == path_) continue;
      const bool is_successor = entry.path().string().starts_with(path_ + ".next-");
      findings.expect(may_litter && is_successor && ++litter == 1, "litter: " + entry.path().string());
    }
    if (exists()) findings.add(unsound(read_table(SegmentFile(path_).bytes())));
    return findings;
  }

 private:
  [[nodiscard]] Tracee::Body body() const {
    const auto store = std::make_shared<std::shared_ptr<LockStore>>();
    return {[] {}, [this, store] { *store = open_small(path_); },
            [this, store] { *sees_leases_of_others_ = (*store)->is_locked("another's"); }};
  }

  test::TemporaryDirectory directory_;
  std::string path_ = directory_.file("segment");
  test::Shared<std::atomic<bool>> sees_leases_of_others_;
  Tracee victim_{body()};
};

Interruption kill_at(const OldSegment* predecessor, const Moment& moment) {
  Maker maker(predecessor);
  const bool came = maker.victim().run_to(moment);
  maker.victim().kill();
  const bool may_litter = predecessor != nullptr;
  Findings findings = maker.findings(may_litter);
  ChildProcess next([&](Channel&) {
    const test::Watchdog watchdog(kPrompt);
    Lock lock = mortise::lock("a", kLong, open_small(maker.path()));
    if (!lock.acquire() || !lock.release()) _exit(1);
  });
  findings.expect(next.wait() == 0, "the next process cannot use the segment");
  findings.add(maker.findings(may_litter));
  return {came, findings};
}

Interruption stop_at(const OldSegment* predecessor, const Moment& moment) {
  Maker maker(predecessor);
  const bool came = maker.victim().run_to(moment);
  Findings findings = maker.findings(predecessor != nullptr);
  ChildProcess other([&](Channel& test) {
    const test::Watchdog watchdog(kPrompt);
    Lock lock = mortise::lock("another's", kLong, open_small(maker.path()));
    test.send(lock.acquire() ? "granted" : "refused");
    std::ignore = test.receive();
  });
  findings.expect(other.receive() == "granted", "another process cannot use the segment");
  findings.expect(maker.victim().conclude(kPrompt), "the maker did not come to its end");
  findings.expect(maker.sees_leases_of_others(), "there are two segments of one name");
  findings.add(maker.findings());
  return {came, findings};
}

class CreationPoints : public testing::Test {
 protected:
  void SetUp() override {
    const std::string reason = why_tracing_is_refused();
    if (!reason.empty()) GTEST_SKIP() << reason;
    // What a process does only once, the victims inherit.
    const test::TemporaryDirectory directory;
    std::ignore = open_small(directory.file("segment"));
  }

  using Interrupt = Interruption(const OldSegment*, const Moment&);
  static void interrupt_everywhere(const char* operation, const OldSegment* predecessor,
                                   const char* interruption, Interrupt* interrupt) {
    Campaign campaign{operation, interruption, course(predecessor), {}};
    campaign.moments = choose(campaign.course, kDensity);
    carry_out(campaign, [&](const Moment& moment) { return interrupt(predecessor, moment); });
  }

 private:
  static constexpr std::chrono::seconds kLimit{580};
  // Which file has the name changes what others see.
  static Course course(const OldSegment* predecessor) {
    Maker maker(predecessor);
    ino_t named = maker.inode();
    return follow(maker.victim(), [&] { return std::exchange(named, maker.inode()) != named; });
  }

  test::Watchdog watchdog_{kLimit};
};

class SuccessionPoints : public CreationPoints {
 protected:
  void SetUp() override {
    CreationPoints::SetUp();
    if (!predecessor_.exists()) GTEST_SKIP() << "the kernel gives this user no private mounts";
  }
  OldSegment predecessor_;
};

TEST_F(CreationPoints, LeaveNothingOrAWholeSegmentWhenKilled) {
  interrupt_everywhere("FirstUseOfASegment", nullptr, "kills", kill_at);
}

TEST_F(CreationPoints, HoldUpNobodyWhenStopped) {
  interrupt_everywhere("FirstUseOfASegment", nullptr, "stops", stop_at);
}

TEST_F(SuccessionPoints, LeaveOneOrTheOtherSegmentWhenKilled) {
  interrupt_everywhere("FirstUseAfterABoot", &predecessor_, "kills", kill_at);
}

TEST_F(SuccessionPoints, HoldUpNobodyWhenStopped) {
  interrupt_everywhere("FirstUseAfterABoot", &predecessor_, "stops", stop_at);
}

}  // namespace
}  // namespace mortise::crash
