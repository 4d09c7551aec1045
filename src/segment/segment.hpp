// A versioned, self-describing file that processes map. It knows nothing of locks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "segment/creation.hpp"
#include "segment/file_guard.hpp"
#include "segment/layout.hpp"
#include "segment/process_slots.hpp"
#include "sys/clock.hpp"
#include "sys/file.hpp"

namespace boost::interprocess {
class mapped_region;
}

namespace mortise::segment {

struct FileAccess {
  unsigned mode;       // of a file that is made
  bool only_own_file;  // refuse one that belongs to another user
};

// One mapping per file and process. A segment with a name is never unmapped: the C library and the kernel
// keep the addresses of robust mutexes.
class Segment {
 public:
  // The segment at `path`; made by `plan`, whole or not at all, when there is none. One of an earlier boot is
  // succeeded by a new one. Throws StoreError, and then has changed nothing that exists.
  static std::shared_ptr<Segment> open(const std::string& path, const Plan& plan, FileAccess access);
  // A segment without a name, for this process and the children it forks.
  static std::shared_ptr<Segment> anonymous(const Plan& plan);
  // The segment at `path`, mapped without write access.
  static std::shared_ptr<const Segment> view(const std::string& path, std::uint64_t fingerprint);

  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;
  ~Segment();

  // As it was when the segment was opened and checked: what somebody scribbles over it later changes no
  // geometry.
  [[nodiscard]] const Header& header() const noexcept { return header_; }
  [[nodiscard]] std::byte* body() noexcept { return body_; }
  [[nodiscard]] const std::byte* body() const noexcept { return body_; }
  [[nodiscard]] std::uint64_t body_bytes() const noexcept {
    return header_.total_bytes - body_offset(header_.processes);
  }
  [[nodiscard]] ProcessSlots& processes() noexcept { return processes_; }
  [[nodiscard]] const ProcessSlots& processes() const noexcept { return processes_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  // Holds no lock of its own.
  [[nodiscard]] const sys::FileDescriptor& file() const noexcept { return file_; }

  // ProcessSlots::attach, after a look at the namespaces: a child may have been born into others. Throws
  // StoreError when the segment means nothing there.
  std::optional<ProcessSlot> attach(const ProcessSlots::Forget& forget);

  // The guard of Guard::file_lock, for what lies at `where` in the body. Of an attached process.
  FileGuard::Outcome try_lock_file(const void* where) noexcept;
  void unlock_file(const void* where) noexcept;

  // Was the file removed or replaced, so that others may be using a new segment of its name? Looks once a
  // second at most; then it stays true.
  [[nodiscard]] bool was_replaced(sys::TimePoint now) noexcept {
    return now >= next_look_.load(std::memory_order_relaxed) && look_for_replacement(now);
  }

 private:
  Segment(std::string name, sys::FileDescriptor file, const Header& header, bool writable);
  bool look_for_replacement(sys::TimePoint now) noexcept;
  [[nodiscard]] off_t offset_of(const void* where) const noexcept;

  std::string name_;
  std::string path_;  // absolute; empty: without a name
  sys::FileDescriptor file_;
  Header header_;
  std::unique_ptr<boost::interprocess::mapped_region> mapping_;
  std::byte* body_;
  ProcessSlots processes_;
  FileGuard file_guard_;
  std::atomic<sys::TimePoint> next_look_ = sys::TimePoint();
  static_assert(std::atomic<sys::TimePoint>::is_always_lock_free);
};

}  // namespace mortise::segment
