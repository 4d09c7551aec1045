// The boundaries between instructions at which an operation is interrupted, and what is counted.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "crash/findings.hpp"
#include "crash/tracee.hpp"

namespace mortise::crash {

// How many of the boundaries are tried: those where something changed that others can see (the bytes of the
// segment, or the state of the kernel by a system call), `near` on both sides of each, and `spread` in equal
// steps over the whole operation. MORTISE_CRASH_POINTS=all in the environment: every one.
struct Density {
  std::size_t near;
  std::size_t spread;
};

// An operation, executed once from begin to end.
struct Course {
  std::vector<Moment> boundaries;    // before each instruction, and after the last
  std::vector<std::size_t> changes;  // the boundaries at which something had changed
  std::size_t images = 1;            // different states of what was watched
};
Course follow(Tracee& tracee, const std::function<bool()>& has_changed);

std::vector<Moment> choose(const Course& course, Density density);

// Two runs of one operation differ a little, so that now and then a moment does not come.
struct Interruption {
  bool came;
  Findings findings;
};

// Interrupts an operation at each of the moments, reports what is found as failures of the running test, and
// prints a line.
struct Campaign {
  std::string operation;
  const char* interruption;  // "kills", "stops"
  Course course;
  std::vector<Moment> moments;
};
void carry_out(const Campaign& campaign, const std::function<Interruption(const Moment&)>& interrupt);

}  // namespace mortise::crash
