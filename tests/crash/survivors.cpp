#include "crash/survivors.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <set>

#include "support/stopwatch.hpp"
#include "support/watchdog.hpp"

namespace mortise::crash {

using namespace std::chrono_literals;
using test::Channel;
using test::ChildProcess;
using test::Stopwatch;

namespace {

constexpr Ttl kLong = 60s;
// How long somebody waits for a key that is new to the table, when another may be in the way.
constexpr auto kCallersDeadline = 25ms;
// A lease that ends within this time is waited for.
constexpr auto kSoon = 5s;
// A process that hangs ends itself after this.
constexpr auto kHangs = 20s;

bool is_in_force(table::Lease lease, const std::vector<OwnerToken>& live, sys::TimePoint now) {
  if (!lease.is_held() || now >= lease.expiry()) return false;
  return lease.binding() == table::Lease::kUnbound ||
         std::any_of(live.begin(), live.end(), [&](OwnerToken token) { return lease.is_held_by(token); });
}

// Somebody who uses the table like any other process.
class User {
 public:
  User(const World& world, const Outlook& outlook)
      : store_(world.open()), fences_(outlook.fences), held_(outlook.held) {}

  // A key that nobody holds is granted, with a higher fence, and can be released.
  void take_and_give_back(const std::string& key) {
    const Stopwatch watch;
    const OwnerToken token = OwnerToken::generate();
    try {
      if (!take(key, token)) return findings_.expect(false, key + " is free and was not granted");
      findings_.expect(store_->release(LockKey(key), token), key + " was granted and could not be released");
    } catch (const StoreError& error) {
      findings_.expect(false, key + " is free, and: " + error.what());
    }
    findings_.expect(watch.elapsed() < kPrompt, key + " took too long");
  }
  // Waits for it; the fence. nullopt: it was not granted in time.
  std::optional<std::uint64_t> take(const std::string& key, OwnerToken token, WaitTime timeout = 0s) {
    constexpr auto kRetryDelay = 5ms;
    const auto grant = store_->acquire_within(LockKey(key), token, kLong, {timeout, kRetryDelay});
    if (!grant) return std::nullopt;
    findings_.expect(grant->fencing_token > fences_[key], key + ": the fence did not rise");
    fences_[key] = grant->fencing_token;
    return grant->fencing_token;
  }
  void find_held(const std::string& key) {
    const OwnerToken holder = OwnerToken::from_number(held_.at(key).token());
    findings_.expect(store_->is_held_by(LockKey(key), holder), key + " is held and does not look like it");
    findings_.expect(!store_->acquire(LockKey(key), OwnerToken::generate(), kLong), key + " has two holders");
  }

  [[nodiscard]] LockStore& store() const { return *store_; }
  [[nodiscard]] Findings& findings() { return findings_; }

 private:
  std::shared_ptr<LockStore> store_;
  std::map<std::string, std::uint64_t> fences_;
  std::map<std::string, table::Lease> held_;
  Findings findings_;
};

// The Rival, in its own process.
class Contender {
 public:
  Contender(const World& world, const Outlook& outlook, Rival::Guard guard)
      : user_(world, outlook), outlook_(outlook), guard_(guard) {}

  // Keys that the table knows are used at full speed.
  void use_known_keys() {
    constexpr int kRounds = 3;
    const Stopwatch watch;
    for (int round = 0; round < kRounds; ++round) {
      for (const std::string& key : outlook_.free_keys) {
        if (key != kKey) user_.take_and_give_back(key);
      }
    }
    user_.findings().expect(watch.elapsed() < kPrompt, "known keys took too long");
  }
  // A key that is new is granted, or the caller is told by its deadline that somebody is in the way.
  void add_a_key() {
    const OwnerToken token = OwnerToken::generate();
    keys_can_be_added_ = acquire(kNewKey, token).has_value();
    if (keys_can_be_added_)
      user_.findings().expect(user_.store().release(kNewKey, token), "the new key cannot be released");
  }
  void find_leases_held() {
    for (const auto& [key, lease] : outlook_.held) {
      if (key != kKey || lease.expiry() > sys::Clock::now() + kSoon) user_.find_held(key);
    }
  }
  // The fence; 0: it belongs to somebody for longer than one would wait.
  std::uint64_t take_the_key() {
    const auto held = outlook_.held.find(kKey);
    if (held == outlook_.held.end()) {
      // Where one new key must wait, so must another.
      return is_known(kKey) || keys_can_be_added_ ? acquire(kKey, token_).value_or(0) : 0;
    }
    if (held->second.expiry() > sys::Clock::now() + kSoon) return 0;
    const auto fence = user_.take(kKey, token_, kSoon);
    const auto late = sys::Clock::now() - held->second.expiry();
    user_.findings().expect(fence.has_value(), "the key was not granted when its lease had expired");
    user_.findings().expect(late >= 0s, "the key was granted before its lease had expired");
    user_.findings().expect(late < kPrompt, "the key was granted long after its lease had expired");
    return fence.value_or(0);
  }
  void give_the_key_back() {
    user_.findings().expect(user_.store().is_held_by(kKey, token_), "the key was lost to the victim");
    user_.findings().expect(user_.store().release(kKey, token_), "the key cannot be released");
  }
  [[nodiscard]] std::string text() { return std::exchange(user_.findings(), Findings()).text(); }

 private:
  [[nodiscard]] bool is_known(const std::string& key) const {
    return std::count(outlook_.free_keys.begin(), outlook_.free_keys.end(), key) != 0;
  }
  std::optional<std::uint64_t> acquire(const std::string& key, OwnerToken token) {
    const Stopwatch watch;
    std::optional<std::uint64_t> fence;
    try {
      fence = user_.take(key, token, kCallersDeadline);
      user_.findings().expect(fence.has_value(), key + " is free and was not granted");
    } catch (const StoreError& error) {
      const bool stalled = error.code() == StoreErrc::stalled;
      user_.findings().expect(stalled && !is_known(key) && guard_ == Rival::Guard::in_the_way, error.what());
      user_.findings().expect(watch.elapsed() >= kCallersDeadline, key + " was given up before the deadline");
    }
    user_.findings().expect(watch.elapsed() < kCallersDeadline + kPrompt, key + " took too long");
    return fence;
  }

  User user_;
  const Outlook& outlook_;
  Rival::Guard guard_;
  OwnerToken token_ = OwnerToken::generate();
  bool keys_can_be_added_ = false;
};

Findings parse(const std::string& text) {
  Findings findings;
  findings.expect(text.empty(), text);
  return findings;
}

// An empty message would look like the end of the other process.
constexpr const char* kNothing = "nothing";
std::string or_nothing(std::string text) {
  return text.empty() ? kNothing : text;
}
std::string without_nothing(const std::string& text) {
  return text == kNothing ? std::string() : text;
}

}  // namespace

Outlook look_out(const World& world, const TableImage& before, const TableImage& now,
                 const std::vector<OwnerToken>& live) {
  Outlook outlook{world.fences(), {}, {}, {}};
  outlook.fences.try_emplace(kKey, 0);
  const sys::TimePoint time = sys::Clock::now();
  for (auto& [key, fence] : outlook.fences) {
    for (const TableImage* table : {&before, &now}) {
      if (const SlotImage* slot = table->find(key)) fence = std::max(fence, slot->fence);
    }
    const SlotImage* slot = now.find(key);
    if (slot == nullptr) {
      outlook.absent_keys.push_back(key);
    } else if (is_in_force(slot->lease, live, time)) {
      outlook.held.emplace(key, slot->lease);
    } else {
      outlook.free_keys.push_back(key);
    }
  }
  for (const auto& [key, token] : world.bystanders()) {
    if (key != kKey)
      outlook.held.emplace(key, table::Lease::held(token, time + kLong.milliseconds(), 0, 0, false));
  }
  outlook.absent_keys.push_back(kNewKey);
  return outlook;
}

Findings view(const World& world, const TableImage& table) {
  const auto bytes = world.file().bytes();
  const std::vector<std::byte> before(bytes.begin(), bytes.end());
  std::set<std::string> seen;
  for (const LeaseInfo& lease : open_view("shm:" + world.path())->leases()) {
    seen.emplace(lease.key.bytes());
  }
  Findings findings;
  findings.expect(std::equal(bytes.begin(), bytes.end(), before.begin()), "looking changed the segment");
  const sys::TimePoint soon = sys::Clock::now() + kSoon;
  for (const StripeImage& stripe : table.stripes) {
    for (const SlotImage& slot : stripe.slots) {
      if (!slot.is_known() || !slot.lease.is_held()) continue;
      // A lease that ends about now may be seen or not.
      if (slot.lease.expiry() > soon)
        findings.expect(seen.contains(slot.key), slot.key + " is held and not seen");
      seen.erase(slot.key);
    }
  }
  for (const std::string& key : seen) findings.expect(false, key + " is seen and not held");
  return findings;
}

Findings check(const World& world) {
  Findings findings;
  for (const Finding& finding : open_view("shm:" + world.path())->check())
    findings.expect(finding.severity == Finding::Severity::note, "the check says: " + finding.sentence);
  return findings;
}

Findings ask_bystander(const World& world) {
  Findings findings;
  for (const auto& [key, token] : world.bystanders()) {
    if (key != kKey) findings.expect(world.bystander_releases(key), "the bystander has lost " + key);
  }
  return findings;
}

Findings use_everything(const World& world, const Outlook& outlook, OwnerToken victim) {
  ChildProcess process([&](Channel& test) {
    const test::Watchdog watchdog(kHangs);
    User user(world, outlook);
    for (const std::string& key : outlook.free_keys) user.take_and_give_back(key);
    for (const std::string& key : outlook.absent_keys) user.take_and_give_back(key);
    for (const auto& [key, lease] : outlook.held) {
      user.find_held(key);
      if (!lease.is_held_by(victim)) continue;
      user.findings().expect(user.store().release(LockKey(key), victim),
                             key + " was handed over and cannot be released");
      user.take_and_give_back(key);
    }
    test.send(or_nothing(user.findings().text()));
  });
  return parse(without_nothing(process.receive()));
}

Rival::Rival(const World& world, Outlook outlook, Guard guard, Aim aim)
    : process_([&, this](Channel& test) {
        const test::Watchdog watchdog(kHangs);
        Contender contender(world, outlook, guard);
        contender.use_known_keys();
        contender.add_a_key();
        contender.find_leases_held();
        if (aim == Aim::kKey_too) *fence_ = contender.take_the_key();
        test.send(or_nothing(contender.text()));
        std::ignore = test.receive();
        if (*fence_ != 0) contender.give_the_key_back();
        test.send(or_nothing(contender.text()));
      }) {}

Findings Rival::first_findings() {
  return parse(without_nothing(process_.receive()));
}

Findings Rival::last_findings() {
  process_.send("go on");
  return parse(without_nothing(process_.receive()));
}

}  // namespace mortise::crash
