// The signals that with-lock minds, as descriptors instead of handlers.
#pragma once

#include <csignal>
#include <optional>

namespace with_lock {

// A set of signals without those that whoever started this process had ignored (as nohup does): they stay
// ignored.
sigset_t unignored(std::initializer_list<int> signals);

// Makes a process receive signals by reading them. They stay blocked when it goes.
class SignalQueue {
 public:
  // Blocks the signals of the set. Throws std::system_error.
  explicit SignalQueue(const sigset_t& signals);
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;
  ~SignalQueue();

  [[nodiscard]] int descriptor() const { return descriptor_; }
  // nullopt: there is none.
  [[nodiscard]] std::optional<int> next() const;

 private:
  int descriptor_;
};

}  // namespace with_lock
