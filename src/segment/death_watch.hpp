// Being told of the death of a process, instead of asking for it again and again.
#pragma once

#include <functional>
#include <memory>

#include "segment/process_slots.hpp"

namespace mortise::segment {

// As long as it lives: when the process that has a slot is dead, its last thread included, `on_death` is
// called, once, by a thread of the library's own or by the constructor. It must be quick. When the destructor
// has returned it is not running, and will not be called.
//
// The thread exists while something is watched, and a second longer. It waits for the kernel to say that the
// process is gone. Of a process in another pid namespace the kernel says nothing: that is looked at every
// millisecond. A forked child has neither the thread nor its watches.
class DeathWatch {
 public:
  // `processes` outlives this object.
  DeathWatch(const ProcessSlots& processes, ProcessSlot slot, std::function<void()> on_death);
  DeathWatch(const DeathWatch&) = delete;
  DeathWatch& operator=(const DeathWatch&) = delete;
  ~DeathWatch();

 private:
  struct Watched;
  class Watcher;
  std::shared_ptr<Watched> watched_;
};

}  // namespace mortise::segment
