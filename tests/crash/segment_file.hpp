// The file of a segment, seen from outside the library: its bytes are watched, kept and put back.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "sys/file.hpp"

namespace mortise::crash {

class SegmentFile {
 public:
  explicit SegmentFile(const std::string& path);
  SegmentFile(const SegmentFile&) = delete;
  SegmentFile& operator=(const SegmentFile&) = delete;
  ~SegmentFile();

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }
  [[nodiscard]] int descriptor() const noexcept { return file_.get(); }

  void keep() { kept_.assign(bytes_.begin(), bytes_.end()); }
  // In place: the mappings and the byte locks of processes that live stay as they are.
  void restore() const;

 private:
  sys::FileDescriptor file_;
  std::span<const std::byte> bytes_;
  std::vector<std::byte> kept_;
};

// Notices when a part of the segment changes.
class Watch {
 public:
  explicit Watch(std::span<const std::byte> part) : part_(part), seen_(part.begin(), part.end()) {}
  // Since the last call.
  [[nodiscard]] bool changed();

 private:
  std::span<const std::byte> part_;
  std::vector<std::byte> seen_;
};

}  // namespace mortise::crash
