// One run of an operation: the victim that carries it out, and whoever sleeps until it is done.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "crash/findings.hpp"
#include "crash/operation.hpp"
#include "crash/soundness.hpp"
#include "crash/table_image.hpp"
#include "crash/tracee.hpp"
#include "crash/world.hpp"
#include "support/child_process.hpp"
#include "support/shared.hpp"

namespace mortise::crash {

// What the victim learns, in memory that it shares with the test.
struct Answer {
  std::atomic<bool> success = false;  // granted, extended, released …
  std::atomic<std::uint64_t> fence = 0;
  // What it is told of its lease when it goes on after the operation.
  std::atomic<bool> expired = false;
  std::atomic<bool> extended = false;
  std::atomic<bool> released = false;
  std::atomic<bool> left_a_sleeper = false;  // beside the key that it set free
};

// A process that waits for kKey.
class Sleeper {
 public:
  // Returns when it sleeps, beside `others` who do: for long, if the lease is bound to a process.
  Sleeper(const World& world, std::chrono::milliseconds retry_delay, unsigned others);

  [[nodiscard]] std::chrono::milliseconds retry_delay() const noexcept { return retry_delay_; }
  [[nodiscard]] Actor actor() const noexcept { return {token_, kLongTtl, pid_}; }
  // Waits until it is granted the key, and says with which fence. Throws when it is not.
  std::uint64_t await_grant();
  // It releases the key and ends. False: it had lost it.
  bool release();
  // Has it released the key?
  [[nodiscard]] bool is_served() const noexcept { return is_served_; }

 private:
  std::chrono::milliseconds retry_delay_;
  OwnerToken token_ = OwnerToken::generate();
  test::ChildProcess process_;
  pid_t pid_ = process_.pid();
  bool is_served_ = false;
};

class Staging {
 public:
  // The world is as planned; the victim stands before its first instruction, the sleeper sleeps.
  Staging(const World& world, const Operation& operation);

  [[nodiscard]] Tracee& victim() noexcept { return victim_; }
  [[nodiscard]] const Answer& answer() const noexcept { return *answer_; }
  [[nodiscard]] OwnerToken token() const noexcept { return token_; }
  [[nodiscard]] const TableImage& before() const noexcept { return before_; }
  // nullptr: nobody sleeps, not yet or no longer.
  [[nodiscard]] Sleeper* sleeper() noexcept {
    return sleeper_ && !sleeper_->is_served() ? &*sleeper_ : nullptr;
  }
  void start_sleeper(unsigned others);
  // Has the bystander released kKey?
  [[nodiscard]] bool key_was_released() const noexcept { return key_was_released_; }
  void release_key();

  [[nodiscard]] Law law(bool victim_lives) const;

 private:
  [[nodiscard]] Tracee::Body victim_body() const;
  [[nodiscard]] bool victim_is_asleep() const;
  void wake_victim();

  const World& world_;
  const Operation& operation_;
  OwnerToken token_ = OwnerToken::generate();
  test::Shared<Answer> answer_;
  sys::TimePoint begin_ = sys::Clock::now();
  Tracee victim_;
  pid_t victim_pid_ = victim_.pid();
  std::optional<Sleeper> sleeper_;
  bool key_was_released_ = false;
  TableImage before_;
};

}  // namespace mortise::crash
