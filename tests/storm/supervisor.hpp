// Lets the storm rage: starts the workers, kills and stops them at random, and watches that they get on.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "history.hpp"
#include "journal.hpp"
#include "random.hpp"
#include "seat.hpp"
#include "support/shared.hpp"
#include "world.hpp"

namespace mortise::storm {

struct StormOrders {
  std::string store_url;
  unsigned processes = 16;
  unsigned kills_per_second = 260;
  unsigned stops_per_second = 100;
  std::uint64_t seed = 0;
};

struct StormFigures {
  unsigned starts = 0;
  unsigned kills = 0;
  std::array<unsigned, kKinds> kills_in_a_call{};  // by Kind
  unsigned kills_of_stopped = 0;
  unsigned stops = 0;
  Time raged{};
  Time longest_tick{};  // of a loop that sleeps for a millisecond: how busy the machine was
};

// Never opens the store, so that a worker is cheap to start and inherits nothing of it.
class Supervisor {
 public:
  Supervisor(StormOrders orders, World& world);

  // Lets it rage for `length`, and until `kills` are reached in all. Ends early when a journal is full or
  // something was found. Every worker is dead then. Answers what happened.
  History rage(Time length, unsigned kills);
  // How much later than usual a process that runs may get to run on this machine, as it was so far.
  [[nodiscard]] Time slack() const;
  // Of all rounds so far.
  [[nodiscard]] const StormFigures& figures() const { return figures_; }

 private:
  void start(Seat& seat);
  void strike(Time since_the_last);
  void kill_one();
  void stop_one();
  Seat* random_target();
  bool bury_the_dead();
  void watch();
  History end_round();

  StormOrders orders_;
  World& world_;
  Random random_;
  std::vector<std::unique_ptr<test::Shared<Journal>>> journals_;
  std::vector<Seat> seats_;
  std::vector<ProcessLife> lives_;  // of this round, by ProcessNumber
  StormFigures figures_;
  double due_kills_ = 0;
  double due_stops_ = 0;
};

}  // namespace mortise::storm
