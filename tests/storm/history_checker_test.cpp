// The checker against histories made by hand: it lets everything pass that may have happened, and finds each
// way in which the promises can be broken.
#include "history_checker.hpp"

#include <gmock/gmock.h>

namespace mortise::storm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr KeyIndex kKey = 0;
constexpr KeyIndex kSampledKey = 1;
constexpr ProcessNumber kA = 0;
constexpr ProcessNumber kB = 1;
constexpr ProcessNumber kC = 2;
constexpr LeaseId kLeaseA = 10;
constexpr LeaseId kLeaseB = 20;
constexpr LeaseId kLeaseC = 30;

// Times in milliseconds, beginning at 0.
constexpr int kOpen = -1;

class Story {
 public:
  Story() {
    history_.processes.resize(3);
    history_.complete_keys = kSampledKey;
  }

  Operation& call(ProcessNumber process, Kind kind, LeaseId lease, int invoked, int returned, Result result) {
    Operation call{.kind = kind, .result = result, .process = process, .key = kKey, .lease = lease};
    call.invoked = ms(invoked);
    call.returned = returned == kOpen ? kNever : ms(returned);
    return history_.operations.emplace_back(call);
  }
  Operation& grant(ProcessNumber process, LeaseId lease, std::uint64_t fence, int ttl, int invoked,
                   int returned) {
    Operation& granted = call(process, Kind::acquire, lease, invoked, returned, Result::yes);
    granted.fence = fence;
    granted.ttl = Millis(ttl);
    return granted;
  }
  Operation& refusal(ProcessNumber process, int invoked, int returned) {
    return call(process, Kind::acquire, next_lease_++, invoked, returned, Result::no);
  }
  Operation& wait(ProcessNumber process, int invoked, int returned) {
    Operation& waited = refusal(process, invoked, returned);
    waited.timeout = Millis(100'000);
    waited.retry_delay = Millis(50);
    return waited;
  }
  Operation& open(ProcessNumber process, Kind kind, LeaseId lease, int invoked) {
    return call(process, kind, lease, invoked, kOpen, Result::none);
  }
  Operation& extension(ProcessNumber process, LeaseId lease, int ttl, int invoked, int returned) {
    Operation& extended =
        call(process, Kind::extend, lease, invoked, returned, returned == kOpen ? Result::none : Result::yes);
    extended.ttl = Millis(ttl);
    return extended;
  }
  Operation& release(ProcessNumber process, LeaseId lease, int invoked, int returned) {
    return call(process, Kind::release, lease, invoked, returned, Result::yes);
  }

  void kill(ProcessNumber process, int condemned, int dead) {
    history_.processes[process].condemned = ms(condemned);
    history_.processes[process].dead = ms(dead);
  }
  void stop(ProcessNumber process, int from, int until) {
    history_.processes[process].stops.push_back({ms(from), ms(until)});
  }

  [[nodiscard]] std::vector<Rule> broken_rules() const {
    std::vector<Rule> rules;
    for (const Violation& violation : check(history_)) rules.push_back(violation.rule);
    return rules;
  }

 private:
  static Time ms(int count) { return std::chrono::milliseconds(count); }
  History history_;
  LeaseId next_lease_ = 1000;
};

struct HistoryChecker : testing::Test {
  Story story;
  void expect_sound() const { EXPECT_THAT(story.broken_rules(), IsEmpty()); }
  void expect_broken(Rule rule) const { EXPECT_THAT(story.broken_rules(), ElementsAre(rule)); }
};

using KeptAlive = HistoryChecker;

TEST_F(KeptAlive, LeaseOfAProcessThatRunsDoesNotExpire) {
  story.grant(kA, kLeaseA, 1, 3000, 0, 1).keep_alive = true;
  story.grant(kB, kLeaseB, 2, 100, 9000, 9001);
  expect_broken(Rule::two_holders);
}

TEST_F(KeptAlive, LeaseOfAProcessThatRunsIsNotLost) {
  story.grant(kA, kLeaseA, 1, 3000, 0, 1).keep_alive = true;
  story.call(kA, Kind::check, kLeaseA, 9000, 9001, Result::no);
  expect_broken(Rule::lost_lease);
}

TEST_F(KeptAlive, LeaseMayBeRefusedForAsLongAsItsProcessLives) {
  story.grant(kA, kLeaseA, 1, 300, 0, 1).keep_alive = true;
  story.refusal(kB, 9000, 9001);
  story.call(kA, Kind::check, kLeaseA, 9002, 9003, Result::yes);
  story.kill(kA, 9010, 9020);
  story.refusal(kB, 9015, 9016);
  expect_sound();
  story.refusal(kB, 9021, 9022);
  expect_broken(Rule::free_refused);
}

TEST_F(KeptAlive, LeaseOfAProcessThatWasStoppedMayBeLost) {
  story.grant(kA, kLeaseA, 1, 3000, 0, 1).keep_alive = true;
  story.stop(kA, 100, 8000);
  story.grant(kB, kLeaseB, 2, 100, 7000, 7001);
  story.call(kA, Kind::check, kLeaseA, 9000, 9001, Result::no);
  expect_sound();
}

TEST_F(KeptAlive, RenewalOfAShortLeaseMayComeTooLate) {
  story.grant(kA, kLeaseA, 1, 300, 0, 1).keep_alive = true;
  story.grant(kB, kLeaseB, 2, 100, 7000, 7001);
  expect_sound();
}

TEST_F(KeptAlive, LeaseThatWasExtendedToLessIsShort) {
  story.grant(kA, kLeaseA, 1, 3000, 0, 1).keep_alive = true;
  story.extension(kA, kLeaseA, 300, 10, 11);
  story.grant(kB, kLeaseB, 2, 100, 7000, 7001);
  expect_sound();
}

TEST_F(KeptAlive, LeaseIsOverAfterItsRelease) {
  story.grant(kA, kLeaseA, 1, 3000, 0, 1).keep_alive = true;
  story.release(kA, kLeaseA, 9000, 9001);
  story.grant(kB, kLeaseB, 2, 100, 9002, 9003);
  expect_sound();
  story.refusal(kC, 9200, 9201);
  expect_broken(Rule::free_refused);
}

using Exclusion = HistoryChecker;

TEST_F(Exclusion, AnEmptyHistoryIsSound) {
  expect_sound();
}

TEST_F(Exclusion, OneLeaseAfterTheOther) {
  story.grant(kA, kLeaseA, 1, 100, 0, 1);
  story.refusal(kB, 2, 3);
  story.release(kA, kLeaseA, 10, 11);
  story.grant(kB, kLeaseB, 2, 100, 12, 13);
  expect_sound();
}

TEST_F(Exclusion, TwoLeasesAtOnce) {
  story.grant(kA, kLeaseA, 1, 100, 0, 1);
  story.grant(kB, kLeaseB, 2, 100, 50, 51);
  expect_broken(Rule::two_holders);
}

TEST_F(Exclusion, GrantDuringAReleaseMayComeAfterIt) {
  story.grant(kA, kLeaseA, 1, 100, 0, 1);
  story.release(kA, kLeaseA, 10, 20);
  story.grant(kB, kLeaseB, 2, 100, 11, 12);
  expect_sound();
}

TEST_F(Exclusion, ReleaseThatWasCutShortMayHaveHappened) {
  story.grant(kA, kLeaseA, 1, 100, 0, 1);
  story.open(kA, Kind::release, kLeaseA, 10);
  story.kill(kA, 50, 60);
  story.grant(kB, kLeaseB, 2, 100, 11, 12);
  expect_sound();
}

TEST_F(Exclusion, DestructorThatReleasesEndsALease) {
  story.grant(kA, kLeaseA, 1, 100, 0, 1);
  story.call(kA, Kind::drop, kLeaseA, 10, 11, Result::none);
  story.grant(kB, kLeaseB, 2, 100, 12, 13);
  expect_sound();
}

TEST_F(Exclusion, GrantAfterTheExpiry) {
  story.grant(kA, kLeaseA, 1, 100, 0, 10);
  story.grant(kB, kLeaseB, 2, 100, 100, 101);
  expect_sound();
}

TEST_F(Exclusion, GrantBeforeTheExtendedExpiry) {
  story.grant(kA, kLeaseA, 1, 100, 0, 1);
  story.extension(kA, kLeaseA, 100, 50, 51);
  story.grant(kB, kLeaseB, 2, 100, 140, 141);
  expect_broken(Rule::two_holders);
}

TEST_F(Exclusion, GrantAfterAShortenedExpiry) {
  story.grant(kA, kLeaseA, 1, 100, 0, 1);
  story.extension(kA, kLeaseA, 10, 20, 21);
  story.grant(kB, kLeaseB, 2, 100, 31, 32);
  expect_sound();
}

TEST_F(Exclusion, ExtensionThatWasCutShortMayHaveShortened) {
  story.grant(kA, kLeaseA, 1, 100, 0, 1);
  story.call(kA, Kind::detach, kLeaseA, 2, 3, Result::yes);
  story.extension(kA, kLeaseA, 10, 20, kOpen);
  story.kill(kA, 25, 26);
  story.grant(kB, kLeaseB, 2, 100, 31, 32);
  expect_sound();
}

TEST_F(Exclusion, ExtensionProvesThatTheLeaseWasInForceAllAlong) {
  story.grant(kA, kLeaseA, 1, 100, 0, 1);
  story.grant(kB, kLeaseB, 2, 100, 100, 101);
  story.extension(kA, kLeaseA, 100, 103, 104);
  expect_broken(Rule::two_holders);
}

TEST_F(Exclusion, GrantAfterTheHoldersDeath) {
  story.grant(kA, kLeaseA, 1, 100, 0, 1);
  story.kill(kA, 10, 20);
  story.grant(kB, kLeaseB, 2, 100, 11, 12);
  expect_sound();
}

TEST_F(Exclusion, GrantAfterTheHolderLeft) {
  story.grant(kA, kLeaseA, 1, 100, 0, 1);
  story.open(kA, Kind::exit, kNobodys, 10);
  story.kill(kA, 50, 60);
  story.grant(kB, kLeaseB, 2, 100, 11, 12);
  expect_sound();
}

TEST_F(Exclusion, DetachedLeaseOutlivesItsProcess) {
  story.grant(kA, kLeaseA, 1, 100, 0, 1);
  story.call(kA, Kind::detach, kLeaseA, 2, 3, Result::yes);
  story.kill(kA, 10, 20);
  story.grant(kB, kLeaseB, 2, 100, 30, 31);
  expect_broken(Rule::two_holders);
}

TEST_F(Exclusion, DetachThatWasCutShortMayHaveHappenedOrNot) {
  for (const int granted : {30, 101}) {
    story = Story();
    story.grant(kA, kLeaseA, 1, 100, 0, 1);
    story.open(kA, Kind::detach, kLeaseA, 2);
    story.kill(kA, 10, 20);
    story.grant(kB, kLeaseB, 2, 100, granted, granted + 1);
    story.refusal(kC, 25, 26);
    expect_sound();
  }
}

TEST_F(Exclusion, HandedOverLeaseIsReleasedByAnother) {
  story.grant(kA, kLeaseA, 1, 100, 0, 1);
  story.call(kA, Kind::serialize, kLeaseA, 2, 3, Result::none);
  story.kill(kA, 10, 20);
  story.extension(kB, kLeaseA, 100, 50, 51);
  story.release(kB, kLeaseA, 120, 121);
  story.grant(kC, kLeaseC, 2, 100, 122, 123);
  expect_sound();
}

// B was stopped after it was granted: it learns of its lease when that is over.
TEST_F(Exclusion, GrantThatWasOverWhenItReturned) {
  story.grant(kA, kLeaseA, 2, 100, 60, 61);
  story.grant(kB, kLeaseB, 1, 10, 0, 80);
  expect_sound();
}

TEST_F(Exclusion, GrantThatBeganAndEndedInsideAnother) {
  story.grant(kA, kLeaseA, 1, 100, 0, 1);
  story.grant(kB, kLeaseB, 2, 10, 20, 40);
  expect_broken(Rule::two_holders);
}

TEST_F(Exclusion, TheLongestLeaseCountsNotTheLast) {
  story.grant(kA, kLeaseA, 1, 1000, 0, 1);
  story.grant(kB, kLeaseB, 2, 10, 20, 40);
  EXPECT_THAT(story.broken_rules(), testing::Contains(Rule::two_holders));
  story.grant(kC, kLeaseC, 3, 10, 500, 501);
  EXPECT_THAT(story.broken_rules(), testing::Contains(Rule::two_holders));
}

using Fences = HistoryChecker;

TEST_F(Fences, FallingNumber) {
  story.grant(kA, kLeaseA, 2, 100, 0, 1);
  story.release(kA, kLeaseA, 2, 3);
  story.grant(kB, kLeaseB, 1, 100, 4, 5);
  expect_broken(Rule::fence_order);
}

TEST_F(Fences, RepeatedNumber) {
  story.grant(kA, kLeaseA, 1, 100, 0, 1);
  story.release(kA, kLeaseA, 2, 3);
  story.grant(kB, kLeaseB, 1, 100, 4, 5);
  expect_broken(Rule::fence_order);
}

TEST_F(Fences, NumberBelowOneBeforeTheLast) {
  story.grant(kA, kLeaseA, 3, 10, 0, 1);
  story.grant(kB, kLeaseB, 1, 10, 20, 21);
  story.grant(kC, kLeaseC, 2, 10, 40, 41);
  expect_broken(Rule::fence_order);
}

TEST_F(Fences, GrantsAtOneTimeMayHaveEitherOrder) {
  story.grant(kA, kLeaseA, 2, 10, 0, 40);
  story.grant(kB, kLeaseB, 1, 10, 0, 41);
  expect_sound();
}

// The number of a process that is stopped between its grant and its number.
TEST_F(Fences, NumberDrawnAfterALaterGrant) {
  story.grant(kA, kLeaseA, 2, 10, 0, 60);
  story.grant(kB, kLeaseB, 1, 100, 20, 21);
  expect_broken(Rule::fence_order);
}

TEST_F(Fences, WaiterThatWasGrantedLater) {
  story.grant(kA, kLeaseA, 2, 100, 10, 11);
  story.release(kA, kLeaseA, 20, 21);
  story.grant(kB, kLeaseB, 1, 100, 0, 22).timeout = Millis(1000);
  story.extension(kB, kLeaseB, 100, 23, 24);
  expect_broken(Rule::fence_order);
}

using ForeignLeases = HistoryChecker;

TEST_F(ForeignLeases, ReleaseAfterTheExpiry) {
  story.grant(kA, kLeaseA, 1, 100, 0, 1);
  story.release(kA, kLeaseA, 107, 108);
  expect_broken(Rule::foreign_lease);
}

TEST_F(ForeignLeases, ReleaseWithinTheToleranceOfTheExpiry) {
  story.grant(kA, kLeaseA, 1, 100, 0, 1);
  story.release(kA, kLeaseA, 105, 108);
  expect_sound();
}

TEST_F(ForeignLeases, SecondRelease) {
  story.grant(kA, kLeaseA, 1, 100, 0, 1);
  story.release(kA, kLeaseA, 2, 3);
  story.release(kA, kLeaseA, 4, 5);
  expect_broken(Rule::foreign_lease);
}

TEST_F(ForeignLeases, ExtensionAfterTheExpiry) {
  story.grant(kA, kLeaseA, 1, 100, 0, 1);
  story.extension(kA, kLeaseA, 100, 150, 151);
  expect_broken(Rule::foreign_lease);
}

TEST_F(ForeignLeases, CheckAndDetachAfterTheExpiry) {
  story.grant(kA, kLeaseA, 1, 100, 0, 1);
  story.call(kA, Kind::check, kLeaseA, 150, 151, Result::yes);
  story.call(kA, Kind::detach, kLeaseA, 160, 161, Result::yes);
  EXPECT_THAT(story.broken_rules(), ElementsAre(Rule::foreign_lease, Rule::foreign_lease));
}

TEST_F(ForeignLeases, ReleaseWithATokenThatWasNeverGranted) {
  story.grant(kA, kLeaseA, 1, 100, 0, 1);
  story.release(kB, kNobodys, 2, 3);
  expect_broken(Rule::foreign_lease);
}

TEST_F(ForeignLeases, AnExtensionThatWasCutShortMayHaveHappenedLate) {
  story.grant(kA, kLeaseA, 1, 100, 0, 1);
  story.call(kA, Kind::serialize, kLeaseA, 2, 3, Result::none);
  story.extension(kA, kLeaseA, 100, 50, kOpen);
  story.kill(kA, 60, 90);
  story.release(kB, kLeaseA, 180, 181);
  expect_sound();
}

using LostLeases = HistoryChecker;

TEST_F(LostLeases, NoBeforeTheExpiry) {
  for (const Kind kind : {Kind::release, Kind::extend, Kind::check, Kind::detach}) {
    story = Story();
    story.grant(kA, kLeaseA, 1, 100, 0, 1);
    story.call(kA, kind, kLeaseA, 50, 51, Result::no);
    expect_broken(Rule::lost_lease);
  }
}

TEST_F(LostLeases, NoThatMayComeAfterTheExpiry) {
  story.grant(kA, kLeaseA, 1, 100, 0, 10);
  story.call(kA, Kind::release, kLeaseA, 99, 100, Result::no);
  expect_sound();
}

TEST_F(LostLeases, NoBeforeTheExtendedExpiry) {
  story.grant(kA, kLeaseA, 1, 100, 0, 1);
  story.extension(kA, kLeaseA, 100, 90, 91);
  story.call(kA, Kind::release, kLeaseA, 150, 151, Result::no);
  expect_broken(Rule::lost_lease);
}

TEST_F(LostLeases, NoToTheOneItWasHandedOverTo) {
  story.grant(kA, kLeaseA, 1, 100, 0, 1);
  story.call(kA, Kind::serialize, kLeaseA, 2, 3, Result::none);
  story.kill(kA, 10, 20);
  story.call(kB, Kind::check, kLeaseA, 50, 51, Result::no);
  expect_broken(Rule::lost_lease);
}

TEST_F(LostLeases, LeaseLeftBehindByASampledHistoryIsStillFollowed) {
  story.grant(kA, kLeaseA, 1, 100, 0, 1).key = kSampledKey;
  story.call(kA, Kind::release, kLeaseA, 50, 51, Result::no).key = kSampledKey;
  expect_broken(Rule::lost_lease);
}

using FreeKeys = HistoryChecker;

TEST_F(FreeKeys, RefusedWhenNobodyEverHeldIt) {
  story.refusal(kA, 0, 1);
  expect_broken(Rule::free_refused);
}

TEST_F(FreeKeys, RefusedAfterARelease) {
  story.grant(kA, kLeaseA, 1, 100, 0, 1);
  story.release(kA, kLeaseA, 2, 3);
  story.refusal(kB, 4, 5);
  expect_broken(Rule::free_refused);
}

TEST_F(FreeKeys, RefusedAfterTheExpiry) {
  story.grant(kA, kLeaseA, 1, 100, 0, 1);
  story.refusal(kB, 107, 108);
  expect_broken(Rule::free_refused);
}

TEST_F(FreeKeys, RefusedAfterTheHoldersDeath) {
  story.grant(kA, kLeaseA, 1, 10'000, 0, 1);
  story.kill(kA, 10, 20);
  story.refusal(kB, 21, 22);
  expect_broken(Rule::free_refused);
}

TEST_F(FreeKeys, RefusedWhileTheHolderDies) {
  story.grant(kA, kLeaseA, 1, 10'000, 0, 1);
  story.kill(kA, 10, 20);
  story.refusal(kB, 15, 22);
  expect_sound();
}

TEST_F(FreeKeys, RefusedWhileAnAcquireWasCutShort) {
  story.open(kA, Kind::acquire, kLeaseA, 0);
  story.kill(kA, 10, 20);
  story.refusal(kB, 15, 16);
  expect_sound();
  story.refusal(kB, 21, 22);
  expect_broken(Rule::free_refused);
}

// A child that was forked at the moment of the death keeps the parent's leases alive until it runs.
TEST_F(FreeKeys, RefusedAfterADeathInTheMiddleOfAFork) {
  story.grant(kA, kLeaseA, 1, 100, 0, 1);
  story.open(kA, Kind::fork, kNobodys, 5);
  story.kill(kA, 10, 20);
  story.refusal(kB, 21, 22);
  expect_sound();
}

TEST_F(FreeKeys, StalledIsNotRefused) {
  story.refusal(kA, 0, 1).result = Result::stalled;
  expect_sound();
}

TEST_F(FreeKeys, NothingIsSaidOfASampledHistory) {
  story.refusal(kA, 0, 1).key = kSampledKey;
  story.wait(kA, 0, 10'000).key = kSampledKey;
  expect_sound();
}

using Holes = HistoryChecker;

TEST_F(Holes, WaiterSleepsOnAfterTheRelease) {
  story.grant(kA, kLeaseA, 1, 10'000, 0, 1);
  story.wait(kB, 2, 600);
  story.release(kA, kLeaseA, 10, 11);
  expect_broken(Rule::hole);
}

TEST_F(Holes, WaiterGivesUpWithinTheBound) {
  story.grant(kA, kLeaseA, 1, 10'000, 0, 1);
  story.wait(kB, 2, 560);
  story.release(kA, kLeaseA, 10, 11);
  expect_sound();
}

TEST_F(Holes, WaiterSleepsOnAfterTheExpiry) {
  story.grant(kA, kLeaseA, 1, 100, 0, 1);
  story.wait(kB, 2, 700);
  expect_broken(Rule::hole);
}

TEST_F(Holes, WaiterSleepsOnAfterTheHoldersDeath) {
  story.grant(kA, kLeaseA, 1, 10'000, 0, 1);
  story.wait(kB, 2, 700);
  story.kill(kA, 10, 20);
  expect_broken(Rule::hole);
}

TEST_F(Holes, WaiterThatIsGrantedTooLate) {
  story.grant(kA, kLeaseA, 1, 100, 0, 1);
  Operation& late = story.grant(kB, kLeaseB, 2, 100, 2, 1200);
  late.timeout = Millis(10'000);
  late.retry_delay = Millis(50);
  expect_broken(Rule::hole);
}

TEST_F(Holes, WaiterThatIsKilledInItsSleep) {
  story.grant(kA, kLeaseA, 1, 100, 0, 1);
  story.wait(kB, 2, kOpen).result = Result::none;
  story.kill(kB, 1300, 1310);
  expect_broken(Rule::hole);
}

TEST_F(Holes, WaiterThatWasStopped) {
  story.grant(kA, kLeaseA, 1, 100, 0, 1);
  story.wait(kB, 2, 700);
  story.stop(kB, 300, 600);
  expect_sound();
}

// Its last look was in time; it returns when it goes on.
TEST_F(Holes, WaiterThatWasStoppedBetweenItsLastLookAndItsReturn) {
  story.grant(kA, kLeaseA, 1, 10'000, 0, 1);
  story.wait(kB, 2, 700);
  story.stop(kB, 9, 690);
  story.release(kA, kLeaseA, 10, 11);
  expect_sound();
}

TEST_F(Holes, WaiterThatWasStoppedBeforeTheKeyWasFree) {
  story.grant(kA, kLeaseA, 1, 100, 0, 1);
  story.wait(kB, 2, 700);
  story.stop(kB, 20, 60);
  expect_broken(Rule::hole);
}

TEST_F(Holes, KeyThatOthersKeepTaking) {
  for (int i = 0; i < 10; ++i) {
    const auto lease = static_cast<LeaseId>(i + 1);
    story.grant(kA, lease, lease, 50, 100 * i, 100 * i + 1);
    story.release(kA, lease, 100 * i + 20, 100 * i + 21);
  }
  story.wait(kB, 2, 900);
  expect_sound();
}

TEST(HistoryCheckerText, SaysWhoDidWhat) {
  History history;
  history.processes.resize(1);
  history.operations.push_back({.kind = Kind::acquire,
                                .result = Result::no,
                                .key = 7,
                                .lease = 9,
                                .invoked = std::chrono::milliseconds(1500),
                                .returned = std::chrono::milliseconds(2500)});
  const auto violations = check(history);
  ASSERT_EQ(violations.size(), 1U);
  EXPECT_EQ(violations[0].text,
            "process 0 called acquire(ttl 0 ms) on key 7, lease 9, at 1.500000000 and was told no at "
            "2.500000000, though nobody can have held it");
}

}  // namespace
}  // namespace mortise::storm
