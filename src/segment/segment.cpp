#include "segment/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <utility>

#include "segment/failure.hpp"
#include "segment/header.hpp"
#include "segment/mapping.hpp"
#include "sys/fork.hpp"

namespace mortise::segment {

namespace {

// The segments that have a name, kept for the life of the process.
using Registry = std::map<std::pair<dev_t, ino_t>, std::shared_ptr<Segment>>;
Registry& registry() {
  static auto* const instance = new Registry;
  return *instance;
}

sys::FileDescriptor open_file(const std::string& path, int access) {
  sys::FileDescriptor file(::open(path.c_str(), access | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file && errno == EISDIR) refuse(StoreErrc::not_a_segment, path, "is a directory");
  if (!file && errno != ENOENT) fail(errno, "cannot open " + path);
  return file;
}

struct stat status_of(int fd, const std::string& path, FileAccess access) {
  struct stat status {};
  if (fstat(fd, &status) != 0) fail(errno, "cannot look at " + path);
  if (access.only_own_file && status.st_uid != geteuid()) {
    refuse(StoreErrc::permission_denied, path,
           "belongs to another user: remove it, or name a segment that is shared on purpose");
  }
  return status;
}

}  // namespace

Segment::Segment(std::string name, sys::FileDescriptor file, const Header& header, bool writable)
    : name_(std::move(name)),
      file_(std::move(file)),
      header_(header),
      mapping_(std::make_unique<Mapping>(
          map(file_.get(), header.total_bytes, writable ? Access::read_write : Access::read_only, name_))),
      body_(begin(*mapping_) + body_offset(header.processes)),
      processes_(reinterpret_cast<ProcessRecord*>(begin(*mapping_) + records_offset()), header.processes,
                 file_.get()) {}

Segment::~Segment() = default;

// Each turn that does not end here was overtaken: by somebody who published first, or by a boot.
std::shared_ptr<Segment> Segment::open(const std::string& path, const Plan& plan, FileAccess access) {
  for (;;) {
    sys::FileDescriptor file = open_file(path, O_RDWR);
    if (!file) {
      make_and_publish(path, plan, access.mode);
      continue;
    }
    const struct stat status = status_of(file.get(), path, access);
    const Header header = checked_header(file.get(), path, plan.fingerprint);
    if (!is_of_this_boot(header)) {
      succeed(path, file.get(), header, plan);
      continue;
    }
    check_namespaces(header, path);
    const std::lock_guard guard(sys::process_mutex(sys::ProcessWide::segments));
    std::shared_ptr<Segment>& segment = registry()[{status.st_dev, status.st_ino}];
    if (!segment) {
      segment.reset(new Segment(path, std::move(file), header, true));
      segment->path_ = path.starts_with('/') ? path : std::filesystem::absolute(path).string();
    }
    return segment;
  }
}

std::shared_ptr<Segment> Segment::anonymous(const Plan& plan) {
  const std::string name = "memory:";
  sys::FileDescriptor file(memfd_create("mortise", MFD_CLOEXEC));
  if (!file) fail(errno, "cannot make " + name);
  make(file.get(), plan, name);
  const Header header = checked_header(file.get(), name, plan.fingerprint);
  return std::shared_ptr<Segment>(new Segment(name, std::move(file), header, true));
}

std::shared_ptr<const Segment> Segment::view(const std::string& path, std::uint64_t fingerprint) {
  sys::FileDescriptor file = open_file(path, O_RDONLY);
  if (!file)
    throw StoreError(StoreErrc::cannot_open, "there is no segment " + path + ": nobody has used it yet");
  const Header header = checked_header(file.get(), path, fingerprint);
  if (!is_of_this_boot(header)) {
    refuse(StoreErrc::incompatible, path,
           "is from before the last boot, and nobody has used it since: its leases are over");
  }
  check_namespaces(header, path);
  return std::shared_ptr<const Segment>(new Segment(path, std::move(file), header, false));
}

std::optional<ProcessSlot> Segment::attach(const ProcessSlots::Forget& forget) {
  check_namespaces(header_, name_);
  return processes_.attach(forget);
}

off_t Segment::offset_of(const void* where) const noexcept {
  return static_cast<const std::byte*>(where) - begin(*mapping_);
}

FileGuard::Outcome Segment::try_lock_file(const void* where) noexcept {
  return file_guard_.try_lock(processes_.descriptor(), offset_of(where));
}

void Segment::unlock_file(const void* where) noexcept {
  file_guard_.unlock(processes_.descriptor(), offset_of(where));
}

bool Segment::look_for_replacement(sys::TimePoint now) noexcept {
  if (path_.empty()) return false;
  if (sys::has_lost_its_name(file_.get(), path_)) return true;
  next_look_.store(now + std::chrono::seconds(1), std::memory_order_relaxed);
  return false;
}

}  // namespace mortise::segment
