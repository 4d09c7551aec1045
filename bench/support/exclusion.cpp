#include "support/exclusion.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <utility>

namespace mortise::bench {

namespace {

void must(bool succeeded, const char* what) {
  if (!succeeded) throw std::runtime_error(std::string("failed: ") + what);
}

void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value) {
  syscall(SYS_futex, &word, operation, value, nullptr, nullptr, 0);
}

}  // namespace

TemporaryFile::TemporaryFile() {
  static unsigned count = 0;
  path_ = "/dev/shm/mortise.bench-" + std::to_string(getpid()) + "." + std::to_string(count++);
}

TemporaryFile::~TemporaryFile() {
  std::filesystem::remove(path_);
}

AcquireOptions MortiseLease::event_only() {
  return {.timeout = std::chrono::minutes(5), .retry_delay = std::chrono::seconds(10)};
}

MortiseLease::MortiseLease(Ttl ttl, AcquireOptions options)
    : options_(std::move(options)), lock_("invoice:4711", ttl, open_store("shm:" + file_.path())) {}

void MortiseLease::acquire() {
  must(lock_.acquire(options_), "acquire");
}

void MortiseLease::release() {
  must(lock_.release(), "release");
}

void RawFutex::acquire() {
  while (taken_->exchange(1) != 0) futex(*taken_, FUTEX_WAIT, 1);
}

void RawFutex::release() {
  taken_->store(0);
  futex(*taken_, FUTEX_WAKE, 1);
}

void FileLock::acquire() {
  constexpr mode_t kOwnerOnly = 0600;
  descriptor_ = open(file_.path().c_str(), O_CREAT | O_RDWR | O_CLOEXEC, kOwnerOnly);
  must(flock(descriptor_, LOCK_EX) == 0, "flock");
}

void FileLock::release() {
  must(flock(descriptor_, LOCK_UN) == 0, "flock");
  close(descriptor_);
}

RobustMutex::RobustMutex() {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  must(pthread_mutex_init(&*mutex_, &attributes) == 0, "pthread_mutex_init");
  pthread_mutexattr_destroy(&attributes);
}

void RobustMutex::acquire() {
  must(pthread_mutex_lock(&*mutex_) == 0, "pthread_mutex_lock");
}

void RobustMutex::release() {
  must(pthread_mutex_unlock(&*mutex_) == 0, "pthread_mutex_unlock");
}

}  // namespace mortise::bench
