#include "support/options.hpp"

#include <cstdlib>
#include <iostream>
#include <span>
#include <string_view>

namespace mortise::bench {

namespace {

[[noreturn]] void usage(std::ostream& out, int status) {
  out << "Options: [--quick | --smoke] [--json FILE]\n"
         "  --quick      fewer repetitions\n"
         "  --smoke      hardly any: only to see whether it runs\n"
         "  --json FILE  writes the figures there, too\n";
  std::exit(status);
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options options;
  const std::span<char*> arguments(argv, static_cast<std::size_t>(argc));
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--quick") {
      options.effort = Effort::quick;
    } else if (argument == "--smoke") {
      options.effort = Effort::smoke;
    } else if (argument == "--json" && i + 1 < arguments.size()) {
      options.json = arguments[++i];
    } else if (argument == "--help") {
      usage(std::cout, 0);
    } else {
      usage(std::cerr, 2);
    }
  }
  return options;
}

}  // namespace mortise::bench
