// Other processes for a test: forked children that talk to it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>

namespace mortise::test {

// nullptr, or why no child may be forked while other threads are busy.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr const char* kWhyNoForkBesideThreads =
    "AddressSanitizer's own allocator stays locked in a child if another thread was in it at the fork";
#else
inline constexpr const char* kWhyNoForkBesideThreads = nullptr;
#endif

// One end of a connection between a test and its child: whole messages, both ways.
class Channel {
 public:
  explicit Channel(int descriptor) noexcept : descriptor_(descriptor) {}
  Channel(Channel&& other) noexcept;
  Channel& operator=(Channel&& other) noexcept;
  ~Channel();

  void send(std::string_view message) const;
  // Waits for a message. Throws std::runtime_error when the other process is gone.
  [[nodiscard]] std::string receive() const;

  // Waits until the other process is gone, or says something.
  void await_end() const noexcept;

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

// A forked child that runs `body` and ends with _exit: neither GoogleTest nor anything registered with atexit
// runs in it, unless the body calls std::exit(). It dies with the thread that made it, and with this object.
class ChildProcess {
 public:
  static constexpr int kUncaughtException = 99;

  // Exit code 0 when the body returns, kUncaughtException (and the text on stderr) when it throws.
  explicit ChildProcess(const std::function<void(Channel& parent)>& body);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess();

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  void send(std::string_view message) const { channel_.send(message); }
  [[nodiscard]] std::string receive() const { return channel_.receive(); }

  void signal(int number) const;
  // SIGSTOP; returns when the child is stopped.
  void stop() const;
  void resume() const;

  // Waits until the child is dead, and leaves it a zombie.
  void await_death() const;
  // Waits for the end: the exit code, or 128 + the number of the signal that killed it.
  int wait();
  // SIGKILL, and wait().
  int kill();

 private:
  pid_t pid_;  // -1: waited for
  Channel channel_;
};

}  // namespace mortise::test
