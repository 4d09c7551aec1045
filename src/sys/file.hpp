// Files: descriptors, byte locks, and files that appear whole.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace mortise::sys {

// Closes what it owns.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) noexcept : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() { reset(); }

  explicit operator bool() const noexcept { return fd_ >= 0; }
  [[nodiscard]] int get() const noexcept { return fd_; }
  void reset() noexcept;

 private:
  int fd_ = -1;
};

// A second open file description of the file behind `fd`, with locks of its own. Fails like open(2), with
// errno set.
FileDescriptor reopen(int fd, int flags);

// Is the file behind `fd` what `path` names? False when nothing can be seen there.
bool is_file_at(int fd, const std::string& path);

// Has the file behind `fd` lost its name: is it removed, or does `path` name another file? A path that shows
// nothing, as after chroot(2), says nothing.
bool has_lost_its_name(int fd, const std::string& path);

// A file without a name yet, in the directory of `path`. It gets its name by publish(), or vanishes. Where
// the file system has no unnamed files, it has a temporary name of its own until then.
class UnpublishedFile {
 public:
  // errno tells why not.
  static std::optional<UnpublishedFile> create(const std::string& path);
  UnpublishedFile(UnpublishedFile&&) noexcept = default;
  UnpublishedFile& operator=(UnpublishedFile&&) = delete;
  ~UnpublishedFile();

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  // 0, or errno: EEXIST when the name is taken.
  int publish();
  FileDescriptor take_descriptor() { return std::move(fd_); }

 private:
  UnpublishedFile(FileDescriptor fd, std::string path, std::string temporary_name)
      : fd_(std::move(fd)), path_(std::move(path)), temporary_name_(std::move(temporary_name)) {}
  FileDescriptor fd_;
  std::string path_;
  std::string temporary_name_;
};

// Allocates the first `size` bytes for real, so that touching them can never be a SIGBUS. 0, or the error.
int allocate(int fd, std::uint64_t size);

// An open-file-description lock on one byte. The kernel drops it when the last descriptor of this open file
// description is gone: when the process is dead, as a zombie too, and seen from every pid namespace.
bool try_lock_byte(int fd, off_t offset);
void unlock_byte(int fd, off_t offset);
// The same for a range, all of it or nothing: 0, or errno (EAGAIN when somebody has locked a byte of it).
int try_lock_range(int fd, off_t offset, off_t length);
void unlock_range(int fd, off_t offset, off_t length);
// Does another open file description hold the byte? Works on a read-only descriptor. nullopt: cannot be told.
std::optional<bool> is_byte_locked(int fd, off_t offset);

}  // namespace mortise::sys
