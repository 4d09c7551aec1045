// How a waiter sleeps until the holder's release rings.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>

#include "store/redis/client.hpp"
#include "store/redis/key_names.hpp"

namespace mortise::store::redis {

// A connection of its own that waits in a BLPOP for the bell of a key, while the looks are on others. It is
// one waiter's.
class Bell {
 public:
  Bell(Client& client, const KeyNames& names, std::stop_token stop);
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;
  ~Bell();

  enum class End { rung, time_up, stopped };
  End sleep_until(sys::TimePoint time);

  // Ends the waiting. True: it has rung meanwhile, for nobody but this waiter.
  bool stop_listening();

 private:
  bool listen();
  std::optional<End> hear(sys::TimePoint time);  // nullopt: it listens no longer

  Client& client_;
  const KeyNames& names_;
  std::stop_token stop_;
  sys::FileDescriptor stopped_;               // an eventfd; none: nobody can stop this wait
  std::unique_ptr<Connection> connection_{};  // none: not listening
  bool is_deaf_ = false;                      // the server refuses: not listening until the next sleep
};

}  // namespace mortise::store::redis
