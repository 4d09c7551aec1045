// The terminal that with-lock was started from, if any.
#pragma once

#include <sys/types.h>

namespace with_lock {

// The command runs in a background group of its own, so that the rest of a pipeline or a script keeps the
// terminal; when the command wants it (it is stopped for reading, or for changing the settings), and we are
// in the foreground, it is lent to the command's group.
class Terminal {
 public:
  Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  // Is this process in the foreground?
  [[nodiscard]] bool is_ours() const;
  [[nodiscard]] bool is_lent() const { return is_lent_; }
  void lend(pid_t group);
  void take_back();

 private:
  int descriptor_;
  bool is_lent_ = false;
};

}  // namespace with_lock
