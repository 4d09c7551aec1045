// What the two processes of with-lock say to each other.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>

namespace with_lock {

// One end of a socket; the other end is another process's, and its death is heard as the end of the messages.
class Channel {
 public:
  struct Message {
    enum class Kind {
      signal,   // to the keeper: `value` for the command's process group
      started,  // to the front: `value` is the command's pid, and its process group
      stopped,  // by the signal `value`
      ended,    // with the wait status `value`; the lease is released
    } kind;
    int value;
    bool lease_was_lost;  // ended
  };

  static std::pair<Channel, Channel> make() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
      throw std::system_error(errno, std::generic_category(), "cannot make a socket");
    return {Channel(ends[0]), Channel(ends[1])};
  }
  Channel(Channel&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Channel& operator=(Channel&&) = delete;
  ~Channel() { close(); }

  // To who is not there any more it says nothing.
  void send(const Message& message) const {
    std::ignore = ::send(descriptor_, &message, sizeof(message), MSG_NOSIGNAL);
  }
  // Waits for a message. nullopt: the other process is gone.
  [[nodiscard]] std::optional<Message> receive() const {
    Message message{};
    auto size = recv(descriptor_, &message, sizeof(message), 0);
    // It ended without having read all that was sent to it. What it had to say comes after this.
    if (size < 0 && errno == ECONNRESET) size = recv(descriptor_, &message, sizeof(message), 0);
    return size == sizeof(message) ? std::optional(message) : std::nullopt;
  }
  void close() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  }
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  explicit Channel(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace with_lock
