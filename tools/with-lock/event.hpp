#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <tuple>

namespace with_lock {

// Something that happens once, which poll(2) can wait for. Any thread may raise it.
class Event {
 public:
  Event() : descriptor_(eventfd(0, EFD_CLOEXEC)) {
    if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "cannot make an event");
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { close(descriptor_); }

  void raise() const {
    const std::uint64_t one = 1;
    std::ignore = write(descriptor_, &one, sizeof(one));
  }
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace with_lock
