#include "segment/header.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/crc.hpp>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "segment/failure.hpp"
#include "sys/entropy.hpp"

namespace mortise::segment {

namespace {

// Bit by bit: the tables that are made for whole bytes pay off for far more of them.
std::uint64_t checksum_of(const Header& header) {
  boost::crc_basic<64> crc(0x42F0E1EBA9EA3693, ~std::uint64_t{0}, ~std::uint64_t{0}, true, true);
  crc.process_bytes(&header, offsetof(Header, checksum));
  return crc.checksum();
}

sys::RobustMutex::Image mutex_image_of(Guard guard) {
  return guard == Guard::robust_mutex ? sys::RobustMutex::fresh_image() : sys::RobustMutex::Image{};
}

[[noreturn]] void refuse_without_proc() {
  throw StoreError(
      StoreErrc::cannot_open,
      "/proc is not mounted here: mount it, so that the segment can tell this boot and this pid namespace");
}

void stamp_boot(Header& header) {
  const std::string boot = sys::boot_id();
  if (boot.empty()) refuse_without_proc();
  header.boot_id = {};
  std::memcpy(header.boot_id.data(), boot.data(), std::min(boot.size(), header.boot_id.size()));
}

void stamp_namespaces(Header& header) {
  header.pid_namespace = sys::pid_namespace();
  if (header.pid_namespace == sys::FileIdentity{}) refuse_without_proc();
  // A kernel without time namespaces has one time for all.
  header.time_namespace = sys::time_namespace();
}

}  // namespace

Header complete(Header header) {
  header.magic = kMagic;
  header.version = kVersion;
  header.header_bytes = sizeof(Header);
  header.segment_id = sys::kernel_random();
  header.hash_seed = sys::kernel_random();
  stamp_boot(header);
  stamp_namespaces(header);
  header.mutex_image = mutex_image_of(header.guard);
  header.checksum = checksum_of(header);
  return header;
}

// Reads with pread, so that a file that shrinks is a short read and not a SIGBUS.
Header checked_header(int fd, const std::string& name, std::uint64_t fingerprint) {
  struct stat status {};
  if (fstat(fd, &status) != 0) fail(errno, "cannot look at " + name);
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
  if (header.fingerprint != fingerprint || header.mutex_image != mutex_image_of(header.guard)) {
    refuse(StoreErrc::incompatible, name,
           "was made by a build with other structures or another C library: use one build for all, or "
           "another segment");
  }
  if (static_cast<std::uint64_t>(status.st_size) < header.total_bytes) {
    refuse(StoreErrc::corrupt, name, "was cut short: stop its users and remove it");
  }
  return header;
}

bool is_of_this_boot(const Header& header) {
  Header here{};
  stamp_boot(here);
  return here.boot_id == header.boot_id;
}

void check_namespaces(const Header& header, const std::string& name) {
  Header here{};
  stamp_namespaces(here);
  if (header.guard == Guard::robust_mutex && here.pid_namespace != header.pid_namespace) {
    refuse(StoreErrc::foreign_namespace, name,
           "was made in another pid namespace (another container?), where the same thread ids mean other "
           "threads: make it anew with guard=file, or use a segment of this namespace");
  }
  if (here.time_namespace != header.time_namespace) {
    refuse(StoreErrc::foreign_namespace, name,
           "was made in another time namespace, where the monotonic clock reads differently: use a segment "
           "of this namespace");
  }
}

}  // namespace mortise::segment
