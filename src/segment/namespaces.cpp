#include "segment/namespaces.hpp"

#include <algorithm>
#include <cstring>

#include "mortise/errors.hpp"

namespace mortise::segment {

void stamp_surroundings(Header& header) {
  header.pid_namespace = sys::identity_of("/proc/self/ns/pid");
  // A kernel without time namespaces has one time for all.
  header.time_namespace = sys::identity_of("/proc/self/ns/time");
  const std::string boot = sys::boot_id();
  if (header.pid_namespace == sys::FileIdentity{} || boot.empty()) {
    throw StoreError(
        StoreErrc::cannot_open,
        "/proc is not mounted here: mount it, so that the segment can tell this boot and this pid namespace");
  }
  header.boot_id = {};
  std::memcpy(header.boot_id.data(), boot.data(), std::min(boot.size(), header.boot_id.size()));
}

void check_surroundings(const Header& header, const std::string& path) {
  Header here{};
  stamp_surroundings(here);
  if (here.boot_id != header.boot_id) {
    throw StoreError(
        StoreErrc::incompatible,
        path +
            " is from before the last boot: remove it, or keep segments in /dev/shm, which a boot empties");
  }
  if (here.pid_namespace != header.pid_namespace) {
    throw StoreError(
        StoreErrc::foreign_namespace,
        path +
            " was made in another pid namespace (another container?), where the same thread ids mean "
            "other threads: use a segment of this namespace");
  }
  if (here.time_namespace != header.time_namespace) {
    throw StoreError(
        StoreErrc::foreign_namespace,
        path +
            " was made in another time namespace, where the monotonic clock reads differently: use a "
            "segment of this namespace");
  }
}

}  // namespace mortise::segment
