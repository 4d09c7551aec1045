// A way to hand something from one process to another through a server.
#pragma once

#include <chrono>
#include <memory>
#include <mortise/mortise.hpp>
#include <utility>

#include "support/exclusion.hpp"

namespace mortise::bench {

// Each process has an object of its own.
class HandOff {
 public:
  HandOff() = default;
  HandOff(const HandOff&) = delete;
  HandOff& operator=(const HandOff&) = delete;
  virtual ~HandOff() = default;
  virtual void take() {}       // by the holder, before the other one asks for it
  virtual void give() = 0;     // by the holder
  virtual void listen() {}     // by the waiter, before
  virtual void receive() = 0;  // by the waiter, who sleeps meanwhile
  virtual void end() {}        // by the waiter, who has it
};

class LeaseHandOff final : public HandOff {
 public:
  explicit LeaseHandOff(std::shared_ptr<LockStore> store)
      : lock_(mortise::lock("hand-off", std::chrono::hours(1), std::move(store))) {}
  void take() override { must(lock_.acquire(MortiseLease::event_only()), "acquire"); }
  void give() override { must(lock_.release(), "release"); }
  void receive() override { take(); }
  void end() override { give(); }

 private:
  Lock lock_;
};

}  // namespace mortise::bench
