// Every operation of the shared-memory store, stopped between any two instructions: all others go on, and
// when the stopped process does so, too, it finds out the truth.
#include <gtest/gtest.h>

#include <chrono>

#include "crash/findings.hpp"
#include "crash/survivors.hpp"
#include "crash/trials.hpp"
#include "support/stopwatch.hpp"

namespace mortise::crash {
namespace {

using namespace std::chrono_literals;
using test::Stopwatch;

#if defined(__SANITIZE_ADDRESS__)
constexpr Density kDensity{.near = 0, .spread = 10};
#else
constexpr Density kDensity{.near = 1, .spread = 40};
#endif

// How long the leases last that are to run out while their holder is stopped.
constexpr auto kShortTtl = 100ms;
// Leases that end within this time are waited for.
constexpr auto kSoon = 5s;

// One operation that is stopped at one moment, and goes on.
class Stop {
 public:
  Stop(const World& world, const Operation& operation, const Moment& moment)
      : world_(world), operation_(operation), staging_(world, operation) {
    came_ = staging_.victim().run_to(moment);
    if (moment.kind == Moment::Kind::asleep) staging_.victim().stop();
    at_ = world.image();
    if (const SlotImage* slot = at_.find(kKey)) lease_ = slot->lease;
  }

  Interruption carry_on() {
    const Law law = staging_.law(true);
    findings_.add(unsound(at_));
    findings_.add(check(world_));
    findings_.add(unlawful_changes(staging_.before(), at_, law));
    if (must_serve_sleeper_now()) serve_sleeper();
    const bool in_the_way = at_.stripes.front().mutex_is_held_by(staging_.victim().pid());
    Rival rival(
        world_, look_out(world_, staging_.before(), world_.image(), law.live),
        in_the_way ? Rival::Guard::in_the_way : Rival::Guard::open,
        operation_.sleeper == Operation::Sleeper::none ? Rival::Aim::kKey_too : Rival::Aim::others_only);
    findings_.add(rival.first_findings());
    if (rival.fence() != 0) others_fence_ = rival.fence();

    let_the_victim_go_on();
    judge();
    findings_.add(rival.last_findings());
    if (staging_.sleeper() != nullptr) finish_sleeper();
    findings_.add(ask_bystander(world_));
    findings_.add(unsound(world_.image()));
    findings_.add(check(world_));
    return {came_, findings_};
  }

 private:
  [[nodiscard]] bool victim_held() const { return lease_.is_held_by(staging_.token()); }
  // Was the key granted to another while the victim was stopped?
  [[nodiscard]] bool taken() const { return others_fence_ != 0; }

  // One who looks often gets the key without the victim's help, as soon as its lease is over.
  [[nodiscard]] bool must_serve_sleeper_now() {
    if (staging_.sleeper() == nullptr || operation_.sleeper == Operation::Sleeper::patient) return false;
    return !victim_held() || lease_.expiry() < sys::Clock::now() + kSoon;
  }
  void serve_sleeper() {
    const Stopwatch watch;
    others_fence_ = staging_.sleeper()->await_grant();
    const auto now = sys::Clock::now();
    findings_.expect(watch.elapsed() < staging_.sleeper()->retry_delay() + kPrompt,
                     "the sleeper had to wait for the stopped process");
    findings_.expect(!victim_held() || now >= lease_.expiry(), "the sleeper was granted the key too early");
  }

  void let_the_victim_go_on() {
    if (operation_.waits) {
      if (!staging_.key_was_released()) staging_.release_key();
      if (staging_.sleeper() != nullptr && taken()) finish_sleeper();
    }
    findings_.expect(staging_.victim().conclude(kPrompt), "the victim did not come to its end");
  }
  // It sleeps no longer than until the operation is done, and holds what it was granted.
  void finish_sleeper() {
    if (!taken()) {
      const Stopwatch watch;
      std::ignore = staging_.sleeper()->await_grant();
      findings_.expect(watch.elapsed() < kPrompt, "the sleeper was not woken");
    }
    findings_.expect(staging_.sleeper()->release(), "the sleeper lost the key");
  }

  void judge() {
    const Answer& answer = staging_.answer();
    const bool told_the_truth = answer.success == must_succeed() || may_fail_late();
    findings_.expect(told_the_truth, answer.success ? "the victim was told that it succeeded, and it had not"
                                                    : "the victim was told that it failed, and it had not");
    if (operation_.kind == Operation::Kind::acquire && answer.success) judge_fence(answer.fence);
    findings_.expect(answer.extended == answer.released, "a lease was extended and then lost at once");
    findings_.expect(!answer.left_a_sleeper, "a sleeper sleeps on beside a free key");
    if (must_be_lost()) {
      findings_.expect(answer.expired || ended_by_victim(), "a lost lease does not look expired");
      findings_.expect(!answer.extended, "a lost lease was extended");
      findings_.expect(!answer.released, "a lost lease was released");
    }
    if (must_be_kept()) {
      findings_.expect(!answer.expired, "a lease that is held looks expired");
      findings_.expect(answer.released, "a lease that is held was not released");
    }
  }
  // Whoever took the key while the victim was stopped came after it, if it held the key by then, and before
  // it otherwise.
  void judge_fence(std::uint64_t fence) {
    const SlotImage* slot = staging_.before().find(kKey);
    findings_.expect(slot == nullptr || fence > slot->fence, "the victim's fence did not rise");
    if (taken())
      findings_.expect(victim_held() == (fence < others_fence_), "the fences do not show who came last");
  }

  [[nodiscard]] bool must_succeed() const {
    if (!taken()) return true;
    switch (operation_.kind) {
      case Operation::Kind::acquire:
        return victim_held() || operation_.waits;
      case Operation::Kind::extend:
        return lease_.expiry() != lease_before().expiry();
      case Operation::Kind::release:
        return !victim_held();
      case Operation::Kind::detach:
        return lease_.binding() == table::Lease::kUnbound;
      case Operation::Kind::serialize:
        return true;
    }
    return true;
  }
  // An extend that was swapped in time and looks at the clock again too late takes itself back.
  [[nodiscard]] bool may_fail_late() const {
    return operation_.kind == Operation::Kind::extend && !taken() &&
           operation_.lease_before == Ttl(kShortTtl);
  }
  [[nodiscard]] table::Lease lease_before() const { return staging_.before().find(kKey)->lease; }

  [[nodiscard]] bool ended_by_victim() const {
    return operation_.kind == Operation::Kind::release && staging_.answer().success;
  }
  [[nodiscard]] bool must_be_lost() const {
    return ended_by_victim() || !staging_.answer().success || (taken() && victim_held());
  }
  [[nodiscard]] bool must_be_kept() const {
    const bool lasts = operation_.kind != Operation::Kind::acquire &&
                       operation_.ttl.milliseconds() >= kLongTtl.milliseconds();
    return lasts && !must_be_lost();
  }

  const World& world_;
  const Operation& operation_;
  Staging staging_;
  bool came_;
  TableImage at_{};
  table::Lease lease_;  // the key's, when the victim was stopped
  std::uint64_t others_fence_ = 0;
  Findings findings_;
};

Interruption stop_at(const World& world, const Operation& operation, const Moment& moment) {
  return Stop(world, operation, moment).carry_on();
}

class StopPoints : public OperationTest {};

TEST_P(StopPoints, HoldUpNobody) {
  interrupt_everywhere(GetParam(), kDensity, "stops", stop_at);
}

INSTANTIATE_TEST_SUITE_P(Crash, StopPoints, testing::ValuesIn(operations(kShortTtl)), name_of);
INSTANTIATE_TEST_SUITE_P(Survivor, StopPoints, testing::ValuesIn(operations_of_a_survivor(kShortTtl)),
                         name_of);

}  // namespace
}  // namespace mortise::crash
