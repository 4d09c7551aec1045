// Runs one of the library's hot paths so many times: hot_paths SEGMENT PATH TIMES. What it takes beside that
// does not depend on TIMES.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mortise/mortise.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

using namespace std::chrono_literals;

using Store = std::shared_ptr<mortise::LockStore>;

constexpr std::string_view kKey = "invoice:0000000000004711";  // 24 bytes
constexpr std::uint32_t kSlots = 1024;

void must(bool succeeded) {
  if (!succeeded) throw std::runtime_error("hot_paths: the key was not as it should be");
}

// Of the same length for every number.
std::string numbered_key(std::uint64_t number) {
  constexpr std::size_t kDigits = 16;
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string key = "invoice:" + std::string(kDigits, '0');
  for (std::size_t i = key.size(); number != 0; number /= kDigits) key[--i] = kHex[number % kDigits];
  return key;
}

void acquire_and_release(mortise::Lock& lease) {
  must(lease.acquire());
  must(lease.release());
}

// A process that holds the key as long as this object lives.
class OtherHolder {
 public:
  explicit OtherHolder(const Store& store) {
    std::array<int, 2> ends{};
    must(pipe(ends.data()) == 0);
    pid_ = fork();
    if (pid_ == 0) hold(store, ends[1]);
    char held = 0;
    must(pid_ > 0 && read(ends[0], &held, 1) == 1);
  }
  OtherHolder(const OtherHolder&) = delete;
  OtherHolder& operator=(const OtherHolder&) = delete;
  ~OtherHolder() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

 private:
  [[noreturn]] static void hold(const Store& store, int ready) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    mortise::Lock lease(kKey, 1h, store);
    if (lease.acquire() && write(ready, "h", 1) == 1) {
      for (;;) pause();
    }
    _exit(1);
  }
  pid_t pid_;
};

void kept_handle(const Store& store, std::uint64_t times) {
  mortise::Lock lease(kKey, 30s, store);
  while (times-- > 0) acquire_and_release(lease);
}

void run(const Store& store, std::uint64_t times) {
  mortise::set_lock_store(store);
  while (times-- > 0) must(bool(mortise::lock(kKey).run([] {})));
}

void extend(const Store& store, std::uint64_t times) {
  mortise::Lock lease(kKey, 30s, store);
  must(lease.acquire());
  while (times-- > 0) lease.extend(40s);
}

void busy_answer(const Store& store, std::uint64_t times) {
  const OtherHolder holder(store);
  mortise::Lock lease(kKey, 30s, store);
  while (times-- > 0) must(!lease.acquire());
}

// In a table where every slot has had a key.
void new_key(const Store& store, std::uint64_t times) {
  std::uint64_t number = 0;
  const auto use_once = [&] {
    mortise::Lock lease(numbered_key(number++), 30s, store);
    acquire_and_release(lease);
  };
  while (number < std::uint64_t{kSlots} * 4) use_once();
  while (times-- > 0) use_once();
}

int main_of(std::span<char*> arguments) {
  const std::map<std::string_view, std::function<void(const Store&, std::uint64_t)>> paths{
      {"kept_handle", kept_handle},
      {"run", run},
      {"extend", extend},
      {"busy_answer", busy_answer},
      {"new_key", new_key}};
  const std::string_view count = arguments[3];
  std::uint64_t times = 0;
  std::from_chars(count.data(), count.data() + count.size(), times);
  const std::string url = "shm:" + std::string(arguments[1]) + "?slots=" + std::to_string(kSlots);
  const Store store = mortise::open_store(url);
  // What only a first lock does: one second has passed since the last look at the segment's name.
  mortise::Lock first("first", 30s, store);
  acquire_and_release(first);
  paths.at(arguments[2])(store, times);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 4) return main_of({argv, 4});
    std::fputs("Usage: hot_paths SEGMENT PATH TIMES\n", stderr);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "hot_paths: %s\n", error.what());
    return 1;
  }
}
