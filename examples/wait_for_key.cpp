// Waits for a key, says when it got it, and holds it until the end of standard input.
#include <iostream>
#include <limits>
#include <mortise/mortise.hpp>

namespace {

using namespace std::chrono_literals;

void report(const mortise::Lock& lock) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  std::cout << "acquired: " << std::chrono::nanoseconds(now).count()
            << " ns of the monotonic clock, fencing number " << lock.fencing_token() << std::endl;
}

void wait_for_end_of_input() {
  std::cin.ignore(std::numeric_limits<std::streamsize>::max());
}

int hold(const mortise::LockKey& key) {
  mortise::Lock lock = mortise::lock(key);
  std::cout << "waiting" << std::endl;
  if (!lock.acquire({.timeout = 10s})) return EXIT_FAILURE;
  report(lock);
  wait_for_end_of_input();
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "Usage: wait_for_key KEY\n";
    return EXIT_FAILURE;
  }
  try {
    return hold(argv[1]);
  } catch (const std::exception& error) {
    std::cerr << "wait_for_key: " << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
