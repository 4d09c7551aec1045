// A child process that is led through one operation, instruction by instruction.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "support/child_process.hpp"
#include "support/shared.hpp"

namespace mortise::crash {

// A boundary between two instructions of the operation.
struct Moment {
  enum class Kind { before_instruction, asleep, returned };
  Kind kind = Kind::returned;
  std::uint64_t address = 0;  // of the instruction
  unsigned occurrence = 0;    // how often it was executed before
  std::size_t boundary = 0;   // how many instructions came before, in the run that found it
  [[nodiscard]] std::string text() const;
};

// Why processes cannot be traced here; empty when they can.
std::string why_tracing_is_refused();

class Tracee {
 public:
  struct Body {
    std::function<void()> prepare;
    std::function<void()> operate;   // the instructions that count
    std::function<void()> conclude;  // what it does when it is let go on to its end
  };
  // For an operation that sleeps in the kernel until something happens.
  struct Nap {
    std::function<bool()> is_asleep;
    std::function<void()> wake;
  };

  // Returns when the child stands before the first instruction of `operate`.
  explicit Tracee(const Body& body);
  void expect(Nap nap) { nap_ = std::move(nap); }

  [[nodiscard]] pid_t pid() const noexcept { return child_.pid(); }
  [[nodiscard]] bool has_returned() const { return marks_->returned.load(); }
  [[nodiscard]] std::uint64_t next_instruction() const;

  // Executes one instruction; a system call is one, and so is all that the kernel's own code in the process
  // does to read the clock, which begins again whenever the clock ticks meanwhile. Only until `operate` has
  // returned.
  void step();
  // Leaves the child at `moment`. False: `operate` returned first.
  bool run_to(const Moment& moment);
  // Stops it, when it sleeps.
  void stop();
  void kill() { child_.kill(); }
  // Lets the child go on to its end: false when it is not there after `limit`, or ends badly.
  bool conclude(std::chrono::milliseconds limit);

 private:
  struct Marks {
    std::atomic<bool> returned = false;
  };
  static void run(const Body& body, Marks& marks);
  void resume(int request) const;
  void await_stop();
  bool run_to_breakpoint(std::uint64_t address);
  void leave_the_kernels_code();
  bool run_to_return();
  bool run_to_sleep();

  test::Shared<Marks> marks_;
  test::ChildProcess child_;
  std::optional<Nap> nap_;
};

}  // namespace mortise::crash
