#include "sys/process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <string_view>

#include "sys/entropy.hpp"
#include "sys/file.hpp"

namespace mortise::sys {

namespace detail {

namespace {

std::atomic<std::uint64_t>* map_wiped_word() {
  const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* page = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED || madvise(page, size, MADV_WIPEONFORK) != 0) throw std::bad_alloc();
  return new (page) std::atomic<std::uint64_t>(0);
}

}  // namespace

std::uint64_t begin_incarnation() {
  static std::atomic<std::uint64_t>* const word = map_wiped_word();
  incarnation_word.store(word, std::memory_order_release);
  std::uint64_t current = 0;
  const std::uint64_t drawn = kernel_random() | 1U;
  return word->compare_exchange_strong(current, drawn) ? drawn : current;
}

}  // namespace detail

CommandName command_name() noexcept {
  CommandName name{};
  prctl(PR_GET_NAME, name.data());
  return name;
}

bool is_stopped(pid_t pid) {
  const FileDescriptor file(open(("/proc/" + std::to_string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 128> text{};
  const ssize_t length = file ? read(file.get(), text.data(), text.size()) : -1;
  if (length <= 0) return false;
  // PID (NAME) STATE ...; a name may hold anything, parentheses too.
  const std::string_view stat(text.data(), static_cast<std::size_t>(length));
  const std::size_t state = stat.rfind(") ") + 2;
  return state < stat.size() && (stat[state] == 'T' || stat[state] == 't');
}

FileDescriptor open_process(pid_t pid) {
  return FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

// Linux finds any thread by its id here, and not the leaders of processes alone. 0 and below would be groups.
bool thread_exists(pid_t thread) {
  return thread > 0 && (kill(thread, 0) == 0 || errno != ESRCH);
}

FileIdentity identity_of(const char* path) noexcept {
  struct stat status {};
  if (stat(path, &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

std::string boot_id() {
  constexpr std::size_t kLength = 36;
  const FileDescriptor file(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  std::string id(kLength, '\0');
  if (!file || read(file.get(), id.data(), kLength) != static_cast<ssize_t>(kLength)) return {};
  return id;
}

}  // namespace mortise::sys
