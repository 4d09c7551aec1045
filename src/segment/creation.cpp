#include "segment/creation.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <new>

#include "segment/failure.hpp"
#include "segment/header.hpp"
#include "segment/mapping.hpp"
#include "sys/entropy.hpp"
#include "sys/file.hpp"

namespace mortise::segment {

std::uint64_t fence_by_the_clock() {
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(wall).count());
}

namespace {

void make(int fd, const Plan& plan, std::uint64_t fence_base, const std::string& name) {
  Header header{};
  header.fingerprint = plan.fingerprint;
  header.total_bytes = body_offset(plan.processes) + plan.body_bytes;
  header.processes = plan.processes;
  header.slots = plan.slots;
  header.guard = plan.guard;
  header.fence_base = fence_base;
  header = complete(header);
  if (const int error = sys::allocate(fd, header.total_bytes); error != 0) {
    fail(error, "no room for the segment " + name + ", which needs " + std::to_string(header.total_bytes) +
                    " bytes");
  }
  const Mapping mapping = map(fd, header.total_bytes, Access::read_write, name);
  if (!plan.make_body(header, begin(mapping) + body_offset(plan.processes)))
    fail(ENOTSUP, "no robust mutexes here for " + name);
  std::memcpy(begin(mapping), &header, sizeof(header));
}

sys::UnpublishedFile new_file(const std::string& path) {
  auto file = sys::UnpublishedFile::create(path);
  if (!file) fail(errno, "cannot make " + path);
  return std::move(*file);
}

// A process that holds its slot is of this boot, whatever the boot id says: some containers see one of their
// own.
void refuse_if_alive(const std::string& path, int fd, const Header& header) {
  for (std::uint32_t slot = 0; slot < header.processes; ++slot) {
    if (!sys::is_byte_locked(fd, lock_byte(slot)).value_or(true)) continue;
    refuse(StoreErrc::foreign_namespace, path,
           "has another boot id and yet it is in use (by a container with a boot id of its own?): use a "
           "segment of this container");
  }
}

std::uint64_t highest_fence(const std::string& path, int fd, const Header& header, const Plan& plan) {
  const std::uint64_t start = body_offset(header.processes);
  // Far above any time in nanoseconds, and far below the end of the numbers.
  constexpr std::uint64_t kPlausible = std::uint64_t{1} << 63U;
  if (start < header.total_bytes) {
    const Mapping mapping = map(fd, header.total_bytes, Access::read_only, path);
    const auto highest = plan.highest_fence(header, begin(mapping) + start, header.total_bytes - start);
    if (highest && *highest < kPlausible) return *highest;
  }
  refuse(StoreErrc::corrupt, path, "is of an earlier boot and contradicts itself: remove it");
}

std::string successor_name(const std::string& path, std::uint64_t id) {
  return path + ".next-" + std::to_string(id);
}

void make_successor(const std::string& path, std::uint64_t id, int fd, const Header& header,
                    const Plan& plan) {
  Plan same = plan;
  same.slots = header.slots;
  same.processes = header.processes;
  same.guard = header.guard;
  same.body_bytes = header.total_bytes - body_offset(header.processes);
  const std::uint64_t fence = std::max(highest_fence(path, fd, header, plan), fence_by_the_clock());
  struct stat old {};
  if (fstat(fd, &old) != 0) fail(errno, "cannot look at " + path);
  sys::UnpublishedFile file = new_file(successor_name(path, id));
  make(file.fd(), same, fence, path);
  if ((old.st_uid != geteuid() || old.st_gid != getegid()) && fchown(file.fd(), old.st_uid, old.st_gid) != 0)
    fail(errno, path + " is of an earlier boot; cannot make its successor for the same owner and group");
  if (fchmod(file.fd(), old.st_mode & ACCESSPERMS) != 0) fail(errno, "cannot set the mode of " + path);
  if (const int error = file.publish(); error != 0) fail(error, "cannot make " + successor_name(path, id));
}

}  // namespace

void make(int fd, const Plan& plan, const std::string& name) {
  make(fd, plan, fence_by_the_clock(), name);
}

void make_and_publish(const std::string& path, const Plan& plan, unsigned mode) {
  sys::UnpublishedFile file = new_file(path);
  if (fchmod(file.fd(), static_cast<mode_t>(mode)) != 0) fail(errno, "cannot set the mode of " + path);
  make(file.fd(), plan, path);
  const int error = file.publish();
  if (error != 0 && error != EEXIST) fail(error, "cannot make " + path);
}

// Why there is one successor: who makes one gives it a name that nothing else will ever have, and then swaps
// its id into the old segment. Whoever loses that swap removes his own. Winner and losers alike move the
// winner's to the segment's name; once it was moved, its own name is gone, so that one who comes late moves
// nothing.
void succeed(const std::string& path, int fd, const Header& header, const Plan& plan) {
  refuse_if_alive(path, fd, header);
  const Mapping page = map(fd, kPage, Access::read_write, path);
  auto* const word = reinterpret_cast<std::atomic<std::uint64_t>*>(begin(page) + kSuccessorOffset);
  std::uint64_t chosen = word->load();
  if (chosen == 0) {
    const std::uint64_t ours = sys::kernel_random() | 1U;
    make_successor(path, ours, fd, header, plan);
    if (word->compare_exchange_strong(chosen, ours)) {
      chosen = ours;
    } else {
      unlink(successor_name(path, ours).c_str());
    }
  }
  if (rename(successor_name(path, chosen).c_str(), path.c_str()) == 0) return;
  if (errno != ENOENT)
    fail(errno, "cannot put the successor of an earlier boot's segment in the place of " + path);
  if (sys::is_file_at(fd, path))
    refuse(StoreErrc::corrupt, path, "is a copy of a segment of an earlier boot: remove it");
}

}  // namespace mortise::segment
