// Stands between a store and a server's port, and breaks off when the server has said so much.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "sys/file.hpp"

namespace mortise::test {

class CuttingRelay {
 public:
  explicit CuttingRelay(std::uint16_t server_port);
  CuttingRelay(const CuttingRelay&) = delete;
  CuttingRelay& operator=(const CuttingRelay&) = delete;
  ~CuttingRelay();

  [[nodiscard]] std::uint16_t port() const { return port_; }
  // Of each connection that is made from now on.
  void cut_after(std::size_t bytes) { limit_ = bytes; }

 private:
  void run() const;
  void relay(int store) const;

  std::uint16_t server_port_;
  sys::FileDescriptor listener_;
  std::uint16_t port_ = 0;
  std::atomic<std::size_t> limit_;
  std::jthread thread_;
};

}  // namespace mortise::test
