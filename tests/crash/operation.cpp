#include "crash/operation.hpp"

namespace mortise::crash {

std::vector<Operation> operations(Ttl ttl) {
  using Key = WorldPlan::Key;
  using Guard = WorldPlan::Guard;
  using Kind = Operation::Kind;
  using Sleeper = Operation::Sleeper;
  const WorldPlan known{.key = Key::known};
  const WorldPlan full{.known_keys = WorldPlan::kFullStripe};
  const auto died = [](Guard guard) {
    return WorldPlan{.known_keys = WorldPlan::kFullStripe, .guard = guard};
  };
  return {
      {.name = "AttachToAnUnusedProcessSlot",
       .world = known,
       .kind = Kind::acquire,
       .ttl = ttl,
       .attaches = true},
      {.name = "AttachToTheSlotOfADeadProcess",
       .world = {.key = Key::known, .dead_processes = true},
       .kind = Kind::acquire,
       .ttl = ttl,
       .attaches = true},
      {.name = "AcquireOfAKnownKey", .world = known, .kind = Kind::acquire, .ttl = ttl},
      {.name = "AcquireThatMovesTheMark", .world = {.key = Key::due}, .kind = Kind::acquire, .ttl = ttl},
      {.name = "AcquireOfANewKey", .world = {}, .kind = Kind::acquire, .ttl = ttl},
      {.name = "AcquireWithEviction", .world = full, .kind = Kind::acquire, .ttl = ttl},
      {.name = "AcquireOfAnExpiredLease", .world = {.key = Key::expired}, .kind = Kind::acquire, .ttl = ttl},
      {.name = "AcquireOfADeadHoldersLease",
       .world = {.key = Key::of_a_dead_holder},
       .kind = Kind::acquire,
       .ttl = ttl},
      {.name = "SleepAndWake",
       .world = {.key = Key::of_the_bystander},
       .kind = Kind::acquire,
       .ttl = ttl,
       .sleeper = Sleeper::impatient,
       .waits = true},
      {.name = "Extend", .world = known, .kind = Kind::extend, .ttl = 2 * kLongTtl.milliseconds()},
      {.name = "ExtendToLessWithASleeper",
       .world = known,
       .kind = Kind::extend,
       .ttl = ttl.milliseconds() / 2,
       .sleeper = Sleeper::impatient},
      {.name = "Release", .world = known, .kind = Kind::release},
      {.name = "ReleaseWithASleeper", .world = known, .kind = Kind::release, .sleeper = Sleeper::impatient},
      {.name = "Serialize", .world = known, .kind = Kind::serialize},
      {.name = "Detach", .world = known, .kind = Kind::detach},
      {.name = "RepairOfAReservation", .world = died(Guard::reserved), .kind = Kind::acquire, .ttl = ttl},
      {.name = "RepairOfAHalfAddedKey", .world = died(Guard::written), .kind = Kind::acquire, .ttl = ttl},
  };
}

std::vector<Operation> operations_under_a_file_guard(Ttl ttl) {
  using Guard = WorldPlan::Guard;
  using Kind = Operation::Kind;
  const auto world = [](unsigned known_keys, Guard guard) {
    return WorldPlan{.known_keys = known_keys, .guard = guard, .shape_guard = ShapeGuard::file_lock};
  };
  constexpr unsigned kFew = WorldPlan::kFewKeys;
  constexpr unsigned kFull = WorldPlan::kFullStripe;
  return {
      {.name = "AcquireOfANewKeyByFile",
       .world = world(kFew, Guard::sound),
       .kind = Kind::acquire,
       .ttl = ttl},
      {.name = "AcquireWithEvictionByFile",
       .world = world(kFull, Guard::sound),
       .kind = Kind::acquire,
       .ttl = ttl},
      {.name = "RepairOfAReservationByFile",
       .world = world(kFull, Guard::reserved),
       .kind = Kind::acquire,
       .ttl = ttl},
      {.name = "RepairOfAHalfAddedKeyByFile",
       .world = world(kFull, Guard::written),
       .kind = Kind::acquire,
       .ttl = ttl},
  };
}

std::vector<Operation> operations_of_a_survivor(Ttl ttl) {
  using Kind = Operation::Kind;
  using Sleeper = Operation::Sleeper;
  const WorldPlan known{.key = WorldPlan::Key::known};
  return {
      {.name = "ExtendOfALeaseThatRunsOut", .world = known, .kind = Kind::extend, .lease_before = ttl},
      {.name = "ReleaseOfALeaseThatRunsOut", .world = known, .kind = Kind::release, .lease_before = ttl},
      {.name = "DetachOfALeaseThatRunsOut", .world = known, .kind = Kind::detach, .lease_before = ttl},
      {.name = "ExtendToLessWithAPatientSleeper",
       .world = known,
       .kind = Kind::extend,
       .ttl = ttl.milliseconds() / 2,
       .sleeper = Sleeper::patient},
      {.name = "ReleaseWithAPatientSleeper",
       .world = known,
       .kind = Kind::release,
       .sleeper = Sleeper::patient},
  };
}

}  // namespace mortise::crash
