// What the others must be able to do when one process was killed or stopped, whatever it was doing.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "crash/findings.hpp"
#include "crash/soundness.hpp"
#include "crash/table_image.hpp"
#include "crash/world.hpp"
#include "mortise/mortise.hpp"
#include "support/child_process.hpp"
#include "support/shared.hpp"
#include "sys/clock.hpp"

namespace mortise::crash {

// A key that no table has seen, for the same stripe as kKey.
inline constexpr const char* kNewKey = "a key unknown to a table";

// Thousands of tries meet the busiest moments of the machine; who waits for a process that does not run waits
// longer.
inline constexpr std::chrono::seconds kPrompt{5};

// The table as it must look to them.
struct Outlook {
  std::map<std::string, std::uint64_t> fences;  // of every key: of its last grant at least
  std::vector<std::string> free_keys;           // known to the table
  std::map<std::string, table::Lease> held;     // leases in force
  std::vector<std::string> absent_keys;         // unknown to the table, kKey or kNewKey perhaps among them
};
// `live`: the tokens of leases whose holder lives.
Outlook look_out(const World& world, const TableImage& before, const TableImage& now,
                 const std::vector<OwnerToken>& live);

// A reader sees exactly the leases of `table`, and changes nothing.
Findings view(const World& world, const TableImage& table);

// The library's own check of the store finds no damage.
Findings check(const World& world);

// The bystander still has its leases, and can release them.
Findings ask_bystander(const World& world);

// Carried out by a process of its own, when the victim is dead: every key that nobody holds is granted at
// once, and every lease in force is still in force. The leases of the dead `victim` that are, were handed
// over: they can be released.
Findings use_everything(const World& world, const Outlook& outlook, OwnerToken victim);

// A process of its own that goes on while the victim is stopped.
class Rival {
 public:
  // Whether the victim is where it keeps others from adding keys.
  enum class Guard { open, in_the_way };
  // Whether it is to take kKey as soon as it can.
  enum class Aim { kKey_too, others_only };

  Rival(const World& world, Outlook outlook, Guard guard, Aim aim);

  // What it did while the victim was stopped.
  Findings first_findings();
  // The fence of kKey that it was granted then, and holds; 0: none.
  [[nodiscard]] std::uint64_t fence() const noexcept { return *fence_; }
  // It releases kKey.
  Findings last_findings();

 private:
  test::Shared<std::uint64_t> fence_;
  test::ChildProcess process_;
};

}  // namespace mortise::crash
