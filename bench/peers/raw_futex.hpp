// The floor of a hand-off: one word, one sleep, one wake. Always wakes, whether anybody sleeps or not.
#pragma once

#include <atomic>
#include <cstdint>

#include "support/exclusion.hpp"
#include "support/team.hpp"

namespace mortise::bench {

class RawFutex : public Exclusion {
 public:
  void acquire() override;
  void release() override;

 private:
  Shared<std::atomic<std::uint32_t>> taken_{0U};
};

}  // namespace mortise::bench
