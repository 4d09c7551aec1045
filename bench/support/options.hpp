// How a benchmark is asked to run.
#pragma once

#include <string>

namespace mortise::bench {

enum class Effort { full, quick, smoke };  // smoke: does it run at all? Its figures mean nothing.

struct Options {
  Effort effort = Effort::full;
  std::string json;  // the file for the figures; empty: none

  // Of the effort asked for.
  template <class T>
  [[nodiscard]] T choose(T full, T quick, T smoke) const {
    return effort == Effort::full ? full : effort == Effort::quick ? quick : smoke;
  }
};

// Ends the program when the arguments are not understood.
Options parse_options(int argc, char** argv);

}  // namespace mortise::bench
