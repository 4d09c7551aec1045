// What happened in a storm, as the processes themselves wrote it down: the input of the history checker.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace mortise::storm {

// Of CLOCK_MONOTONIC, which all processes share.
using Time = std::chrono::nanoseconds;
inline constexpr Time kNever = Time::max();

inline Time now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

using Millis = std::chrono::duration<std::uint32_t, std::milli>;
using KeyIndex = std::uint32_t;
// A worker process, numbered in the order of the starts: a seat has many, one after another.
using ProcessNumber = std::uint32_t;
// Names a lease, whoever holds it, without a word from the library. kNobodys: a token that was never granted.
using LeaseId = std::uint64_t;
inline constexpr LeaseId kNobodys = 0;

enum class Kind : std::uint8_t {
  acquire,
  extend,
  check,  // is_expired(); yes: the lease is in force
  release,
  drop,  // the destructor's release, which answers nothing
  detach,
  serialize,  // detaches too, and does not say whether it could
  burst,      // many acquires and releases that are not written down
  fork,
  exit,  // leaves without a release
};
inline constexpr std::size_t kKinds = 10;
constexpr bool is_on_a_lease(Kind kind) {
  return kind < Kind::burst;
}

enum class Result : std::uint8_t {
  none,  // still open, or nothing to answer
  yes,
  no,
  stalled,  // a process that was stopped while it added a key was in the way
};

// One call, written in two steps: at its invocation, and when it returned. A process that is killed in
// between leaves it open: it may have happened or not.
struct Operation {
  Kind kind = Kind::acquire;
  Result result = Result::none;
  ProcessNumber process = 0;
  KeyIndex key = 0;
  Millis ttl{};             // acquire, extend
  Millis timeout{};         // acquire: when the caller expects an answer at the latest
  Millis retry_delay{};     // acquire
  bool keep_alive = false;  // acquire
  LeaseId lease = kNobodys;
  std::uint64_t fence = 0;  // acquire that answered yes
  Time invoked{};
  Time returned = kNever;  // kNever: open

  [[nodiscard]] bool is_open() const { return returned == kNever; }
  [[nodiscard]] bool is_grant() const { return kind == Kind::acquire && result == Result::yes; }
};

struct Interval {
  Time from;
  Time until;
};

// What the supervisor knows of a worker process.
struct ProcessLife {
  Time born{};
  Time condemned = kNever;      // it certainly lived until here
  Time dead = kNever;           // it was certainly dead from here on
  std::vector<Interval> stops;  // it may have been stopped during these, in order

  [[nodiscard]] bool may_have_been_stopped(Interval during) const;
};

struct History {
  std::vector<Operation> operations;   // each process's own in the order of its calls
  std::vector<ProcessLife> processes;  // by ProcessNumber
  // Every operation on the keys below this one is written down. Of the others some leases are left out as a
  // whole.
  KeyIndex complete_keys = std::numeric_limits<KeyIndex>::max();
};

}  // namespace mortise::storm
