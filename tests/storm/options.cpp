#include "options.hpp"

#include <getopt.h>

#include <array>
#include <charconv>
#include <iostream>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>

#include "world.hpp"

namespace mortise::storm {

namespace {

constexpr const char* kHelp = R"(Usage: mortise_storm [OPTION...]
Processes that use locks at random are killed, stopped and started again, while it is checked that no
promise is broken. Prints figures.
  --seconds N           how long (20)
  --minutes N
  --processes N         at a time, 8 to 32 (16)
  --kills-per-second N  SIGKILLs, if the machine is fast enough (260)
  --stops-per-second N  SIGSTOPs (100), each followed by a SIGCONT or a SIGKILL
  --kills N             go on until there were that many SIGKILLs
  --seed N              repeats the random choices, but not what the scheduler does (drawn)
  --store URL           a store that nobody else uses (a new segment)
Exit status: 0 all promises were kept, 1 one was broken, 2 the command line is wrong.
)";

template <class Number>
Number number(std::string_view option, std::string_view text, Number least = 0,
              Number most = std::numeric_limits<Number>::max()) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least || value > most) {
    throw std::invalid_argument("--" + std::string(option) + " must be " + std::to_string(least) + " to " +
                                std::to_string(most) + ", not \"" + std::string(text) + "\"");
  }
  return value;
}

void apply(Options& options, std::string_view name, std::string_view value) {
  constexpr unsigned kMostSeconds = 7 * 24 * 3600;
  constexpr unsigned kMostPerSecond = 10'000;
  if (name == "seconds") {
    options.length = std::chrono::seconds(number(name, value, 1U, kMostSeconds));
  } else if (name == "minutes") {
    options.length = std::chrono::minutes(number(name, value, 1U, kMostSeconds / 60));
  } else if (name == "processes") {
    options.storm.processes = number(name, value, 8U, kMostSeats);
  } else if (name == "kills-per-second") {
    options.storm.kills_per_second = number(name, value, 0U, kMostPerSecond);
  } else if (name == "stops-per-second") {
    options.storm.stops_per_second = number(name, value, 0U, kMostPerSecond);
  } else if (name == "kills") {
    options.kills = number<unsigned>(name, value);
  } else if (name == "seed") {
    options.storm.seed = number<std::uint64_t>(name, value);
  } else if (name == "store") {
    options.storm.store_url = value;
  }
}

std::uint64_t drawn_seed() {
  std::random_device device;
  return device();
}

}  // namespace

std::optional<Options> parse_options(int argc, char** argv) {
  constexpr std::array kOptions = {
      option{"seconds", required_argument, nullptr, 0},
      option{"minutes", required_argument, nullptr, 0},
      option{"processes", required_argument, nullptr, 0},
      option{"kills-per-second", required_argument, nullptr, 0},
      option{"stops-per-second", required_argument, nullptr, 0},
      option{"kills", required_argument, nullptr, 0},
      option{"seed", required_argument, nullptr, 0},
      option{"store", required_argument, nullptr, 0},
      option{"help", no_argument, nullptr, 0},
      option{},
  };
  Options options;
  options.storm.seed = drawn_seed();
  opterr = 0;
  int index = 0;
  int found = 0;
  while ((found = getopt_long(argc, argv, "", kOptions.data(), &index)) != -1) {
    if (found != 0)
      throw std::invalid_argument(std::string("unknown or incomplete option ") + argv[optind - 1]);
    const std::string_view name = kOptions.at(static_cast<std::size_t>(index)).name;
    if (name == "help") {
      std::cout << kHelp;
      return std::nullopt;
    }
    apply(options, name, optarg);
  }
  if (optind < argc) throw std::invalid_argument(std::string("unknown argument ") + argv[optind]);
  return options;
}

}  // namespace mortise::storm
