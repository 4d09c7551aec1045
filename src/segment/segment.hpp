// A versioned, self-describing file that processes map. It knows nothing of locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "segment/layout.hpp"
#include "segment/process_slots.hpp"
#include "sys/file.hpp"

namespace boost::interprocess {
class mapped_region;
}

namespace mortise::segment {

// What the body of a segment is to be.
struct Plan {
  std::uint64_t fingerprint;  // of its structures: a segment with another one is refused
  std::uint32_t slots;
  std::uint32_t processes;
  std::uint64_t body_bytes;
  std::function<bool(const Header&, std::byte* body)>
      make_body;  // on zeroed memory that nobody else sees yet
};

struct FileAccess {
  unsigned mode;       // of a file that is made
  bool only_own_file;  // refuse one that belongs to another user
};

// One mapping per file and process. A segment with a name is never unmapped: the C library and the kernel
// keep the addresses of robust mutexes.
class Segment {
 public:
  // The segment at `path`; made by `plan`, whole or not at all, when there is none. Throws StoreError, and
  // then has changed nothing that exists.
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

 private:
  Segment(std::string name, sys::FileDescriptor file, const Header& header, bool writable);

  std::string name_;
  sys::FileDescriptor file_;
  Header header_;
  std::unique_ptr<boost::interprocess::mapped_region> mapping_;
  std::byte* body_;
  ProcessSlots processes_;
};

}  // namespace mortise::segment
