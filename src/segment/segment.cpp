#include "segment/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/crc.hpp>
#include <boost/interprocess/mapped_region.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "mortise/errors.hpp"
#include "segment/namespaces.hpp"
#include "sys/entropy.hpp"
#include "sys/fork.hpp"

namespace mortise::segment {

namespace {

namespace ipc = boost::interprocess;

// The one place where errno becomes a StoreError.
[[noreturn]] void fail(int error, const std::string& what) {
  const std::string reason = what + ": " + std::generic_category().message(error);
  switch (error) {
    case EACCES:
    case EPERM:
    case EROFS:
      throw StoreError(StoreErrc::permission_denied,
                       reason + "; ask its owner for access, or use another segment");
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case ENOMEM:
      throw StoreError(StoreErrc::no_space, reason + "; make room, or ask for fewer slots");
    case ENOENT:
      throw StoreError(StoreErrc::cannot_open, reason + "; make the directory first, or name another one");
    case ELOOP:
      throw StoreError(StoreErrc::not_a_segment, what + ": it is a symbolic link; name the segment itself");
    default:
      throw StoreError(StoreErrc::cannot_open, reason);
  }
}

[[noreturn]] void refuse(StoreErrc code, const std::string& name, const std::string& reason) {
  throw StoreError(code, name + " " + reason);
}

std::uint64_t checksum_of(const Header& header) {
  boost::crc_optimal<64, 0x42F0E1EBA9EA3693, 0xFFFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF, true, true> crc;
  crc.process_bytes(&header, offsetof(Header, checksum));
  return crc.checksum();
}

// What Boost.Interprocess maps: a descriptor that we opened ourselves, with the flags that it needs.
class Mappable {
 public:
  explicit Mappable(int fd) : fd_(fd) {}
  [[nodiscard]] ipc::mapping_handle_t get_mapping_handle() const { return {fd_, false}; }

 private:
  int fd_;
};

ipc::mapped_region map(int fd, std::uint64_t bytes, bool writable, const std::string& name) {
  try {
    return {Mappable(fd), writable ? ipc::read_write : ipc::read_only, 0, bytes};
  } catch (const ipc::interprocess_exception& error) {
    fail(error.get_native_error(), "cannot map " + name);
  }
}

Header new_header(const Plan& plan) {
  Header header{};
  header.magic = kMagic;
  header.version = kVersion;
  header.header_bytes = sizeof(Header);
  header.fingerprint = plan.fingerprint;
  header.total_bytes = body_offset(plan.processes) + plan.body_bytes;
  header.processes = plan.processes;
  header.slots = plan.slots;
  header.segment_id = sys::kernel_random();
  header.hash_seed = sys::kernel_random();
  // The only use of the wall clock: numbers of a segment made anew begin above those of the one before.
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  header.fence_base = static_cast<std::uint64_t>(std::chrono::nanoseconds(wall).count());
  stamp_surroundings(header);
  header.mutex_image = sys::RobustMutex::fresh_image();
  header.checksum = checksum_of(header);
  return header;
}

// Allocates and fills a file that nobody else can see yet.
void make(int fd, const Plan& plan, const std::string& name) {
  const Header header = new_header(plan);
  if (const int error = sys::allocate(fd, header.total_bytes); error != 0) {
    fail(error, "no room for the segment " + name + ", which needs " + std::to_string(header.total_bytes) +
                    " bytes");
  }
  const ipc::mapped_region mapping = map(fd, header.total_bytes, true, name);
  auto* base = static_cast<std::byte*>(mapping.get_address());
  if (!plan.make_body(header, base + body_offset(plan.processes)))
    fail(ENOTSUP, "no robust mutexes here for " + name);
  std::memcpy(base, &header, sizeof(header));
}

struct stat status_of(int fd, const std::string& name) {
  struct stat status {};
  if (fstat(fd, &status) != 0) fail(errno, "cannot look at " + name);
  return status;
}

// Reads with pread, so that a file that shrinks is a short read and not a SIGBUS.
Header checked_header(int fd, const std::string& name, std::uint64_t fingerprint) {
  const struct stat status = status_of(fd, name);
  if (!S_ISREG(status.st_mode)) refuse(StoreErrc::not_a_segment, name, "is not a regular file");
  Header header{};
  if (pread(fd, &header, sizeof(header), 0) != static_cast<ssize_t>(sizeof(header)) ||
      header.magic != kMagic) {
    refuse(StoreErrc::not_a_segment, name, "is no segment of mortise; it was left as it is");
  }
  if (header.version != kVersion) {
    refuse(StoreErrc::incompatible, name,
           "has layout version " + std::to_string(header.version) + ", this mortise knows version " +
               std::to_string(kVersion) + ": use one version for all, or another segment");
  }
  if (header.header_bytes != sizeof(Header) || header.checksum != checksum_of(header)) {
    refuse(StoreErrc::corrupt, name, "has a damaged header: stop its users and remove it");
  }
  if (header.fingerprint != fingerprint || header.mutex_image != sys::RobustMutex::fresh_image()) {
    refuse(StoreErrc::incompatible, name,
           "was made by a build with other structures or another C library: use one build for all, or "
           "another segment");
  }
  if (static_cast<std::uint64_t>(status.st_size) < header.total_bytes) {
    refuse(StoreErrc::corrupt, name, "was cut short: stop its users and remove it");
  }
  check_surroundings(header, name);
  return header;
}

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

// False when somebody else was first.
bool publish_new(const std::string& path, const Plan& plan, unsigned mode) {
  auto file = sys::UnpublishedFile::create(path);
  if (!file) fail(errno, "cannot make " + path);
  if (fchmod(file->fd(), static_cast<mode_t>(mode)) != 0) fail(errno, "cannot set the mode of " + path);
  make(file->fd(), plan, path);
  const int error = file->publish();
  if (error != 0 && error != EEXIST) fail(error, "cannot make " + path);
  return error == 0;
}

}  // namespace

Segment::Segment(std::string name, sys::FileDescriptor file, const Header& header, bool writable)
    : name_(std::move(name)),
      file_(std::move(file)),
      header_(header),
      mapping_(std::make_unique<ipc::mapped_region>(map(file_.get(), header.total_bytes, writable, name_))),
      body_(static_cast<std::byte*>(mapping_->get_address()) + body_offset(header.processes)),
      processes_(reinterpret_cast<ProcessRecord*>(static_cast<std::byte*>(mapping_->get_address()) +
                                                  records_offset()),
                 header.processes, file_.get()) {}

Segment::~Segment() = default;

std::shared_ptr<Segment> Segment::open(const std::string& path, const Plan& plan, FileAccess access) {
  sys::FileDescriptor file = open_file(path, O_RDWR);
  // Whoever loses the race to publish opens what the winner made; that may be gone again, and then it is our
  // turn.
  while (!file) {
    publish_new(path, plan, access.mode);
    file = open_file(path, O_RDWR);
  }
  const struct stat status = status_of(file.get(), path);
  if (access.only_own_file && status.st_uid != geteuid()) {
    refuse(StoreErrc::permission_denied, path,
           "belongs to another user: remove it, or name a segment that is shared on purpose");
  }
  const Header header = checked_header(file.get(), path, plan.fingerprint);

  const std::lock_guard guard(sys::process_mutex(sys::ProcessWide::segments));
  std::shared_ptr<Segment>& segment = registry()[{status.st_dev, status.st_ino}];
  if (!segment) segment.reset(new Segment(path, std::move(file), header, true));
  return segment;
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
  return std::shared_ptr<const Segment>(new Segment(path, std::move(file), header, false));
}

}  // namespace mortise::segment
