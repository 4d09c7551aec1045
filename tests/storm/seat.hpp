// A place for one worker process after another.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "journal.hpp"
#include "worker.hpp"

namespace mortise::storm {

// As the supervisor knows it.
class Seat {
 public:
  Seat(unsigned index, World& world, Journal& journal) : index_(index), world_(world), journal_(journal) {}

  // Forks a worker. Throws std::system_error.
  void start(const WorkerOrders& orders);
  void kill();
  // SIGSTOP, and SIGCONT when the time has come and resume_if_due() is called.
  void stop(Time until);
  void resume_if_due();
  // The process is dead and waited for.
  ProcessLife bury();

  [[nodiscard]] unsigned index() const { return index_; }
  [[nodiscard]] bool is_vacant() const { return pid_ == 0; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] ProcessNumber process() const { return orders_.process; }
  [[nodiscard]] bool is_condemned() const { return life_.condemned != kNever; }
  [[nodiscard]] bool is_stopped() const { return resume_at_ != kNever; }

  // For how long the worker has made no progress, beyond the time that its call may take. The time for which
  // it was stopped does not count.
  [[nodiscard]] Time overdue() const;
  // What the worker is in the middle of; nullopt: it is between two calls.
  [[nodiscard]] std::optional<Kind> activity() const;
  // The same in words, with what the kernel says of the process.
  [[nodiscard]] std::string describe_activity() const;

 private:
  [[nodiscard]] Operation* last_call() const;

  unsigned index_;
  World& world_;
  Journal& journal_;
  WorkerOrders orders_{};
  pid_t pid_ = 0;
  ProcessLife life_;
  Time running_since_{};  // its start, or the last time it was resumed
  Time resume_at_ = kNever;
};

}  // namespace mortise::storm
