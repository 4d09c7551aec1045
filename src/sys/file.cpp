#include "sys/file.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "sys/entropy.hpp"

namespace mortise::sys {

namespace {

constexpr mode_t kPrivate = 0600;

std::string descriptor_path(int fd) {
  return "/proc/thread-self/fd/" + std::to_string(fd);
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool is_same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

struct flock range(short type, off_t offset, off_t length) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = offset;
  lock.l_len = length;
  return lock;
}

}  // namespace

void FileDescriptor::reset() noexcept {
  if (fd_ >= 0) close(std::exchange(fd_, -1));
}

FileDescriptor reopen(int fd, int flags) {
  return FileDescriptor(open(descriptor_path(fd).c_str(), flags | O_CLOEXEC));
}

bool is_file_at(int fd, const std::string& path) {
  struct stat ours {};
  struct stat there {};
  return fstat(fd, &ours) == 0 && stat(path.c_str(), &there) == 0 && is_same_file(ours, there);
}

bool has_lost_its_name(int fd, const std::string& path) {
  struct stat ours {};
  struct stat there {};
  if (fstat(fd, &ours) != 0) return false;
  return ours.st_nlink == 0 || (stat(path.c_str(), &there) == 0 && !is_same_file(ours, there));
}

std::optional<UnpublishedFile> UnpublishedFile::create(const std::string& path) {
  FileDescriptor unnamed(open(directory_of(path).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, kPrivate));
  if (unnamed) return UnpublishedFile(std::move(unnamed), path, {});
  if (errno != EOPNOTSUPP && errno != EISDIR) return std::nullopt;

  std::string temporary = path + ".new-" + std::to_string(kernel_random());
  FileDescriptor named(open(temporary.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, kPrivate));
  if (!named) return std::nullopt;
  return UnpublishedFile(std::move(named), path, std::move(temporary));
}

UnpublishedFile::~UnpublishedFile() {
  if (!temporary_name_.empty()) unlink(temporary_name_.c_str());
}

int UnpublishedFile::publish() {
  const int result = temporary_name_.empty() ? linkat(AT_FDCWD, descriptor_path(fd_.get()).c_str(), AT_FDCWD,
                                                      path_.c_str(), AT_SYMLINK_FOLLOW)
                                             : link(temporary_name_.c_str(), path_.c_str());
  return result == 0 ? 0 : errno;
}

int allocate(int fd, std::uint64_t size) {
  // Beyond this limit the kernel would send SIGXFSZ, which ends the process.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && size > limit.rlim_cur) return EFBIG;
  int error = EINTR;
  while (error == EINTR) error = posix_fallocate(fd, 0, static_cast<off_t>(size));
  return error;
}

bool try_lock_byte(int fd, off_t offset) {
  return try_lock_range(fd, offset, 1) == 0;
}

void unlock_byte(int fd, off_t offset) {
  unlock_range(fd, offset, 1);
}

int try_lock_range(int fd, off_t offset, off_t length) {
  struct flock lock = range(F_WRLCK, offset, length);
  if (fcntl(fd, F_OFD_SETLK, &lock) == 0) return 0;
  return errno == EACCES ? EAGAIN : errno;
}

void unlock_range(int fd, off_t offset, off_t length) {
  struct flock lock = range(F_UNLCK, offset, length);
  fcntl(fd, F_OFD_SETLK, &lock);
}

std::optional<bool> is_byte_locked(int fd, off_t offset) {
  struct flock lock = range(F_WRLCK, offset, 1);
  if (fcntl(fd, F_OFD_GETLK, &lock) != 0) return std::nullopt;
  return lock.l_type != F_UNLCK;
}

}  // namespace mortise::sys
