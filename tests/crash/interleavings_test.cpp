// Two processes inside their operations at once, each stopped where the other could mislead it.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "crash/operation.hpp"
#include "crash/staging.hpp"
#include "crash/survivors.hpp"
#include "crash/trials.hpp"
#include "support/child_process.hpp"
#include "support/shared.hpp"
#include "support/stopwatch.hpp"
#include "sys/futex.hpp"
#include "table/geometry.hpp"

namespace mortise::crash {
namespace {

using namespace std::chrono_literals;
using test::Channel;
using test::ChildProcess;

class Interleavings : public testing::Test {
 protected:
  void SetUp() override {
    const std::string reason = why_tracing_is_refused();
    if (!reason.empty()) GTEST_SKIP() << reason;
  }

 private:
  test::Watchdog watchdog_{580s};
};

// A stripe with one slot that holds no lease: there lives kKey.
class CrowdedStripe {
 public:
  CrowdedStripe() {
    ChildProcess maker([this](Channel&) {
      const auto store = open();
      const OwnerToken token = OwnerToken::generate();
      const bool known = store->acquire(kKey, token, kLongTtl) && store->release(kKey, token);
      if (!known) throw std::runtime_error("the key is not free");
      for (unsigned i = 1; i < table::kSlotsPerStripe; ++i) {
        const LockKey tenant("tenant:" + std::to_string(i));
        if (!store->acquire(tenant, token, 1h) || !store->outlive_process(tenant, token))
          throw std::runtime_error("there is no room");
      }
    });
    if (maker.wait() != 0) throw std::runtime_error("the stripe cannot be made");
    file_ = std::make_unique<SegmentFile>(path_);
    file_->keep();
  }

  [[nodiscard]] std::shared_ptr<LockStore> open() const {
    return std::make_shared<ShmLockStore>(
        path_, SegmentOptions{.slots = table::Geometry::kMinSlots, .processes = World::kProcesses});
  }
  void restore() const { file_->restore(); }
  // By a process of its own.
  void touch(const LockKey& key, std::uint64_t times) const {
    ChildProcess user([&](Channel&) {
      const auto store = open();
      const OwnerToken token = OwnerToken::generate();
      for (; times > 0; --times) {
        if (!store->acquire(key, token, kLongTtl) || !store->release(key, token)) _exit(1);
      }
    });
    if (user.wait() != 0) throw std::runtime_error("a key is not free");
  }
  [[nodiscard]] TableImage image() const { return read_table(file_->bytes()); }
  [[nodiscard]] std::span<const std::byte> bytes() const { return file_->bytes(); }

 private:
  test::TemporaryDirectory directory_;
  std::string path_ = directory_.file("segment");
  std::unique_ptr<SegmentFile> file_;
};

// A process that acquires a key of it and, when it is let go on, releases it if it is told to.
class Acquirer {
 public:
  enum class Then { keep, release };
  Acquirer(const CrowdedStripe& stripe, const std::string& key, Then then)
      : victim_(body(stripe, key, then)) {}

  [[nodiscard]] Tracee& victim() noexcept { return victim_; }
  [[nodiscard]] OwnerToken token() const noexcept { return token_; }
  [[nodiscard]] bool was_granted() const { return *fence_ != 0; }
  [[nodiscard]] std::uint64_t fence() const { return *fence_; }

 private:
  [[nodiscard]] Tracee::Body body(const CrowdedStripe& stripe, const std::string& key, Then then) const {
    const auto store = std::make_shared<std::shared_ptr<LockStore>>();
    return {[&stripe, store] {
              *store = stripe.open();
              // It attaches by this.
              if ((*store)->acquire("tenant:1", OwnerToken::generate(), kLongTtl))
                throw std::runtime_error("a lease was lost");
            },
            [this, store, key] {
              try {
                const auto grant = (*store)->acquire(LockKey(key), token_, kLongTtl);
                *fence_ = grant ? grant->fencing_token : 0;
              } catch (const StoreError& error) {
                if (error.code() != StoreErrc::stalled) throw;
              }
            },
            [this, store, key, then] {
              if (then == Then::release && !(*store)->release(LockKey(key), token_))
                throw std::runtime_error("the lease was lost");
            }};
  }

  OwnerToken token_ = OwnerToken::generate();
  test::Shared<std::atomic<std::uint64_t>> fence_;
  Tracee victim_;
};

// An operation, and the instruction after which the table first was as `state` says.
struct Path {
  Course course;
  std::size_t instruction = 0;
};
Path follow(const CrowdedStripe& stripe, const std::string& key,
            const std::function<bool(const TableImage&)>& state) {
  stripe.restore();
  Acquirer acquirer(stripe, key, Acquirer::Then::keep);
  Watch watch(stripe.bytes());
  Path path;
  std::size_t steps = 0;
  path.course = follow(acquirer.victim(), [&] {
    ++steps;
    const bool changed = watch.changed();
    if (changed && path.instruction == 0 && state(stripe.image())) path.instruction = steps;
    return changed;
  });
  if (path.instruction == 0) throw std::runtime_error("the table was never as expected");
  return path;
}

// The slot that a process looks at gets another key meanwhile: in part between two of its instructions and in
// part just before its swap, or all of it between two instructions.
TEST_F(Interleavings, ASlotThatGetsAnotherKeyIsNotTaken) {
  const CrowdedStripe stripe;
  const std::string another = "another key, in its slot";
  const Path path =
      follow(stripe, kKey, [](const TableImage& image) { return image.find(kKey)->lease.is_held(); });
  const Path others_path = follow(stripe, another, [](const TableImage& image) {
    const auto& slots = image.stripes.front().slots;
    return std::any_of(slots.begin(), slots.end(),
                       [](const SlotImage& slot) { return slot.lease.is_reserved(); });
  });
  const std::vector<Moment>& moments = path.course.boundaries;
  const Moment& before_swap = moments.at(path.instruction - 1);
  const Moment& reserved = others_path.course.boundaries.at(others_path.instruction);
  stripe.restore();
  const std::uint64_t fence_before = stripe.image().find(kKey)->fence;

  const auto interleave = [&](const Moment& first, const Moment& others, const Moment& second,
                              std::uint64_t more_grants) {
    stripe.restore();
    Acquirer one(stripe, kKey, Acquirer::Then::keep);
    Acquirer other(stripe, another, Acquirer::Then::release);
    // One that was moved to another processor may take another way, and have the key already.
    if (!one.victim().run_to(first) || !other.victim().run_to(others)) return Interruption{false, {}};
    // The one that sees the other's reservation takes another way, and does not come by there.
    if (second.boundary > first.boundary) std::ignore = one.victim().run_to(second);
    Findings findings;
    findings.expect(other.victim().conclude(kPrompt), "the other did not get its key");
    stripe.touch(another, more_grants);
    findings.expect(one.victim().conclude(kPrompt), "the one did not come to its end");
    const TableImage after = stripe.image();
    findings.add(unsound(after));
    const SlotImage* slot = after.find(kKey);
    const bool holds = slot != nullptr && slot->lease.is_held_by(one.token());
    findings.expect(holds == one.was_granted(), "the one was granted a lease that is not the key's");
    findings.expect(!one.was_granted() || one.fence() > fence_before, "the fence did not rise");
    return Interruption{true, findings};
  };

  // Who has not looked at the slot when it is reserved will never take it as it was.
  const auto swap = moments.begin() + static_cast<std::ptrdiff_t>(path.instruction);
  const auto looked = std::partition_point(moments.begin(), swap, [&](const Moment& moment) {
    stripe.restore();
    Acquirer one(stripe, kKey, Acquirer::Then::keep);
    Acquirer other(stripe, another, Acquirer::Then::keep);
    return one.victim().run_to(moment) && other.victim().run_to(reserved) &&
           !one.victim().run_to(before_swap);
  });
  constexpr std::ptrdiff_t kInstructionsOfALook = 40;
  ASSERT_GT(looked - moments.begin(), kInstructionsOfALook);

  Campaign campaign{"AcquireOfAKeyThatMovedOut", "interleavings", path.course, {}};
  campaign.moments.assign(looked - kInstructionsOfALook, swap);
  carry_out(campaign, [&](const Moment& moment) {
    return interleave(moment, others_path.course.boundaries.back(), moment, 0);
  });
  campaign.operation = "AcquireOfAKeyThatMovedOutUntilTheFenceBitsCameRound";
  carry_out(campaign, [&](const Moment& moment) {
    return interleave(moment, others_path.course.boundaries.back(), moment, table::Lease::kMostBehind);
  });
  campaign.operation = "AcquireOfAKeyThatMovesOut";
  carry_out(campaign, [&](const Moment& moment) { return interleave(moment, reserved, before_swap, 0); });
}

// Others are granted the key many times while one is about to move its mark.
TEST_F(Interleavings, AMarkThatIsMovedLateHidesNoGrant) {
  const Operation operation{.name = "AcquireThatMovesTheMark",
                            .world = {.key = WorldPlan::Key::due},
                            .kind = Operation::Kind::acquire};
  const World world(operation.world);
  Campaign campaign{operation.name, "interleavings", follow(world, operation), {}};
  const auto [begin, changes, images] = campaign.course;
  ASSERT_GE(changes.size(), 2U) << "the mark, and the lease";
  constexpr std::size_t kInstructionsOfALook = 60;
  ASSERT_GT(changes[0], kInstructionsOfALook);
  for (std::size_t i = changes[0] - kInstructionsOfALook; i < changes[1]; ++i)
    campaign.moments.push_back(begin.at(i));
  carry_out(campaign, [&](const Moment& moment) {
    constexpr std::uint64_t kGrants = 100;
    Staging staging(world, operation);
    const std::uint64_t fence_before = world.image().find(kKey)->fence;
    // One that was moved to another processor may take another way, and have the key already.
    if (!staging.victim().run_to(moment)) return Interruption{false, {}};
    ChildProcess others([&](Channel& test) {
      const auto store = world.open();
      std::optional<Grant> grant;
      for (std::uint64_t i = 0; i < kGrants; ++i) {
        const OwnerToken token = OwnerToken::generate();
        grant = store->acquire(kKey, token, kLongTtl);
        if (!grant || !store->release(kKey, token)) break;
      }
      test.send(std::to_string(grant ? grant->fencing_token : 0));
    });
    const std::uint64_t others_last = std::stoull(others.receive());
    Findings findings;
    findings.expect(staging.victim().conclude(kPrompt), "the victim did not come to its end");
    findings.expect(staging.answer().success, "the victim was not granted the key");
    findings.expect(others_last == fence_before + kGrants, "the others' fences do not tell their grants");
    findings.expect(staging.answer().fence == others_last + 1, "the victim's fence is not the next one");
    findings.expect(world.image().find(kKey)->fence == staging.answer().fence,
                    "the fence is not the last one");
    return Interruption{true, findings};
  });
}

// A lease that was handed over, so that two have its token: the victim, which calls something, and the test.
class Fellows {
 public:
  using Call = std::function<bool(LockStore&, OwnerToken)>;

  Fellows(const World& world, const Call& call) : world_(world), victim_(body(call)), store_(world.open()) {}

  [[nodiscard]] Tracee& victim() noexcept { return victim_; }
  [[nodiscard]] bool answer() const { return *answer_; }
  [[nodiscard]] bool extend(Ttl ttl) { return store_->extend(kKey, token_, ttl); }
  [[nodiscard]] sys::TimePoint expiry() const { return world_.image().find(kKey)->lease.expiry(); }

 private:
  [[nodiscard]] Tracee::Body body(const Call& call) const {
    world_.restore();
    const auto store = std::make_shared<std::shared_ptr<LockStore>>();
    return {[this, store] {
              *store = world_.open();
              if (!(*store)->acquire(kKey, token_, kLongTtl) || !(*store)->outlive_process(kKey, token_))
                throw std::runtime_error("the key is not free");
            },
            [this, store, call] { *answer_ = call(**store, token_); }, [] {}};
  }

  const World& world_;
  OwnerToken token_ = OwnerToken::generate();
  test::Shared<std::atomic<bool>> answer_;
  Tracee victim_;
  std::shared_ptr<LockStore> store_;
};

Course follow(const World& world, const Fellows::Call& call) {
  Fellows fellows(world, call);
  Watch watch(world.changing_part());
  return follow(fellows.victim(), [&] { return watch.changed(); });
}

bool extend_for_long(LockStore& store, OwnerToken token) {
  return store.extend(kKey, token, kLongTtl);
}

// The victim reads the lease when it is about to expire, and looks at the clock when it would have expired.
TEST_F(Interleavings, ALeaseThatAnotherExtendsIsNotLost) {
  constexpr auto kAboutToExpire = 30ms;
  constexpr Density kDensity{.near = 1, .spread = 60};
  const std::vector<std::pair<std::string, Fellows::Call>> calls = {
      {"Extend", extend_for_long},
      {"Release", [](LockStore& store, OwnerToken token) { return store.release(kKey, token); }},
      {"Detach", [](LockStore& store, OwnerToken token) { return store.outlive_process(kKey, token); }},
      {"IsHeldBy", [](LockStore& store, OwnerToken token) { return store.is_held_by(kKey, token); }},
      {"IsLocked", [](LockStore& store, OwnerToken) { return store.is_locked(kKey); }}};
  const World world({.key = WorldPlan::Key::known});
  for (const auto& [name, call] : calls) {
    Campaign campaign{name + "WhileAnotherExtends", "interleavings", follow(world, call), {}};
    campaign.moments = choose(campaign.course, kDensity);
    // Once the victim has changed the lease, it is not mistaken any more.
    const auto& changes = campaign.course.changes;
    std::erase_if(campaign.moments, [&](const Moment& moment) {
      return !changes.empty() && moment.boundary >= changes.front();
    });
    carry_out(campaign, [&, &call = call](const Moment& moment) {
      Fellows fellows(world, call);
      Findings findings;
      findings.expect(fellows.extend(kAboutToExpire), "a lease cannot be shortened");
      const sys::TimePoint expiry = fellows.expiry();
      bool came = fellows.victim().run_to(moment);
      // On a busy machine that may have been too late.
      came = fellows.extend(kLongTtl) && came;
      std::this_thread::sleep_until(expiry);
      findings.expect(fellows.victim().conclude(kPrompt), "the victim did not come to its end");
      findings.expect(!came || fellows.answer(), "the lease was called lost while it was in force");
      return Interruption{came, findings};
    });
  }
}

// An extension that was too late takes itself back: then whoever saw it, and went to sleep until its end, is
// woken.
TEST_F(Interleavings, AnExtensionThatIsTakenBackWakesWhoSleeps) {
  constexpr auto kLongEnoughToPrepare = 1s;
  constexpr auto kPatience = 20s;
  const World world({.key = WorldPlan::Key::known});
  const Course course = follow(world, extend_for_long);
  Fellows fellows(world, extend_for_long);
  ASSERT_TRUE(fellows.extend(kLongEnoughToPrepare));
  const sys::TimePoint expiry = fellows.expiry();
  Sleeper sleeper(world, kPatience, 0);
  const auto await_sleepers = [&](unsigned count) {
    while (sys::count_sleepers(world.image().find(kKey)->sleep_word) != count) std::this_thread::yield();
  };
  kill(sleeper.actor().pid, SIGSTOP);
  await_sleepers(0);
  ASSERT_TRUE(fellows.victim().run_to(course.boundaries.at(course.changes.front() - 1)));
  ASSERT_LT(sys::Clock::now(), expiry) << "the machine is too slow for this test";
  std::this_thread::sleep_until(expiry);
  fellows.victim().step();
  ASSERT_GT(fellows.expiry(), expiry) << "the extension was not to have happened before";
  kill(sleeper.actor().pid, SIGCONT);
  // Its wait goes on only to find that its time is up. The next one, until the end that the lease has now, is
  // meant.
  constexpr auto kUntilItLooked = 100ms;
  await_sleepers(1);
  std::this_thread::sleep_for(kUntilItLooked);
  await_sleepers(1);

  EXPECT_TRUE(fellows.victim().conclude(kPrompt));
  EXPECT_FALSE(fellows.answer());
  const test::Stopwatch watch;
  EXPECT_NO_THROW(std::ignore = sleeper.await_grant());
  EXPECT_LT(watch.elapsed(), kPrompt);
  EXPECT_TRUE(sleeper.release());
}

}  // namespace
}  // namespace mortise::crash
