// What nothing that does the same can be cheaper than.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "support/team.hpp"
#include "support/turns.hpp"

namespace mortise::bench {

// CLOCK_MONOTONIC.
inline Contestant clock_read() {
  return {"clock read", [](std::size_t times) {
            for (; times > 0; --times)
              keep(static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()));
          }};
}

// A lock that knows no owner and cannot wait: one swap to take it, one to give it back.
inline Contestant cas_pair() {
  return {"CAS pair", [word = std::make_shared<Shared<std::atomic<std::uint32_t>>>(0U)](std::size_t times) {
            std::atomic<std::uint32_t>& taken = **word;
            for (; times > 0; --times) {
              std::uint32_t free = 0;
              taken.compare_exchange_strong(free, 1);
              std::uint32_t ours = 1;
              taken.compare_exchange_strong(ours, 0);
            }
          }};
}

}  // namespace mortise::bench
