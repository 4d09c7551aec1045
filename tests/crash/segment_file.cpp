#include "crash/segment_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace mortise::crash {

SegmentFile::SegmentFile(const std::string& path) : file_(open(path.c_str(), O_RDWR | O_CLOEXEC)) {
  struct stat status {};
  void* address = MAP_FAILED;
  if (file_ && fstat(file_.get(), &status) == 0) {
    address = mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_SHARED, file_.get(), 0);
  }
  if (address == MAP_FAILED) throw std::system_error(errno, std::generic_category(), path);
  bytes_ = {static_cast<const std::byte*>(address), static_cast<std::size_t>(status.st_size)};
}

SegmentFile::~SegmentFile() {
  munmap(const_cast<std::byte*>(bytes_.data()),
         bytes_.size());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
}

void SegmentFile::restore() const {
  if (pwrite(file_.get(), kept_.data(), kept_.size(), 0) != static_cast<ssize_t>(kept_.size())) {
    throw std::system_error(errno, std::generic_category(), "pwrite");
  }
}

bool Watch::changed() {
  if (std::memcmp(part_.data(), seen_.data(), part_.size()) == 0) return false;
  std::memcpy(seen_.data(), part_.data(), part_.size());
  return true;
}

}  // namespace mortise::crash
