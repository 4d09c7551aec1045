// The first use of a segment, interrupted between any two instructions: there is no file, or a whole one, and
// nothing else.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
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

// A process that makes the segment of an empty directory.
class Maker {
 public:
  [[nodiscard]] Tracee& victim() noexcept { return victim_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] bool exists() const { return std::filesystem::exists(path_); }
  // What it saw at the end: somebody else's lease in the segment that it had opened.
  [[nodiscard]] bool sees_leases_of_others() const { return *sees_leases_of_others_; }

  [[nodiscard]] Findings findings() const {
    Findings findings;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      findings.expect(entry.path() == path_, "litter: " + entry.path().string());
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

Interruption kill_at(const Moment& moment) {
  Maker maker;
  const bool came = maker.victim().run_to(moment);
  maker.victim().kill();
  Findings findings = maker.findings();
  ChildProcess next([&](Channel&) {
    const test::Watchdog watchdog(kPrompt);
    Lock lock = mortise::lock("a", kLong, open_small(maker.path()));
    if (!lock.acquire() || !lock.release()) _exit(1);
  });
  findings.expect(next.wait() == 0, "the next process cannot use the segment");
  findings.add(maker.findings());
  return {came, findings};
}

Interruption stop_at(const Moment& moment) {
  Maker maker;
  const bool came = maker.victim().run_to(moment);
  Findings findings = maker.findings();
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

  static Course course() {
    Maker maker;
    bool existed = false;
    return follow(maker.victim(), [&] {
      const bool before = std::exchange(existed, maker.exists());
      return existed != before;
    });
  }
  static Campaign campaign(const char* interruption) {
    Campaign made{"FirstUseOfASegment", interruption, course(), {}};
    made.moments = choose(made.course, kDensity);
    return made;
  }

 private:
  static constexpr std::chrono::seconds kLimit{580};
  test::Watchdog watchdog_{kLimit};
};

TEST_F(CreationPoints, LeaveNothingOrAWholeSegmentWhenKilled) {
  carry_out(campaign("kills"), kill_at);
}

TEST_F(CreationPoints, HoldUpNobodyWhenStopped) {
  carry_out(campaign("stops"), stop_at);
}

}  // namespace
}  // namespace mortise::crash
