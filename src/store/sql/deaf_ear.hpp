// The ear of a waiter whom nobody tells anything.
#pragma once

#include "store/sql/database.hpp"
#include "sys/stoppable_sleep.hpp"

namespace mortise::sql {

class DeafEar final : public Ear {
 public:
  Woken sleep_until(sys::TimePoint until, const std::stop_token& stop) override {
    return sys::sleep_unless_stopped(until, stop) ? Woken::by_time : Woken::by_stop;
  }
};

}  // namespace mortise::sql
