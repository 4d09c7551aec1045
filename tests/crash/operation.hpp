// The operations of the shared-memory store that are tried.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "crash/world.hpp"
#include "mortise/types.hpp"

namespace mortise::crash {

inline constexpr Ttl kLongTtl = std::chrono::seconds(60);

struct Operation {
  enum class Kind { acquire, extend, release, serialize, detach };
  // Somebody who sleeps until the lease of kKey ends. One who looks often survives a wake-up that never
  // comes; one who does not must be woken.
  enum class Sleeper { none, impatient, patient };

  std::string name;
  WorldPlan world;
  Kind kind;
  Ttl ttl = kLongTtl;           // of the acquire or extend
  Ttl lease_before = kLongTtl;  // of the lease that the others begin with
  Sleeper sleeper = Sleeper::none;
  bool attaches = false;  // opens the store and attaches, too
  bool waits = false;     // goes to sleep on the bystander's lease, which is then released

  [[nodiscard]] bool ends_the_lease() const { return kind == Kind::release; }
};

// All of them; what they acquire, or leave to a sleeper, lasts for `ttl`.
std::vector<Operation> operations(Ttl ttl);
// Those that only mean something when the process goes on afterwards: with a lease that runs out meanwhile,
// and with sleepers who rely on being woken.
// What changes the shape, in a segment that is made for containers.
std::vector<Operation> operations_under_a_file_guard(Ttl ttl);
std::vector<Operation> operations_of_a_survivor(Ttl ttl);

}  // namespace mortise::crash
