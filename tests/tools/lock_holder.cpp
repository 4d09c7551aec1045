// A process that holds locks for the tests of the tools. It takes one command from each line of standard
// input and answers it with one line. The store is the default store; a key is given in hexadecimal.
//
//   acquire KEY TTL_MS TIMEOUT_MS   granted | busy
//   release KEY                     released | lost
//   detach KEY                      detached | lost
//   serialize KEY                   the text
//   restore TEXT                    restored
//   extend KEY TTL_MS               extended | lost
//   ensure KEY                      held | the sentence of the LockNotHeldError
//   watch KEY                       watched, at once; then: lost, when its lost token is stopped
//   churn NAME                      churning, at once; then acquires and releases, again and again, the
//                                   key NAME and keys that are new to the table, one of which it holds
//                                   at any moment, until the next line comes; then: churned ROUNDS
//                                   SLOWEST_ROUND_MS
//
// What fails is answered with: error SENTENCE
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <exception>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "mortise/mortise.hpp"

namespace {

using std::chrono::milliseconds;

std::string bytes_of(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

bool line_is_waiting() {
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  return poll(&input, 1, 0) > 0;
}

mortise::Lock acquired(const std::string& key) {
  mortise::Lock lock = mortise::lock(std::string_view(key));
  if (!lock.acquire_immediately()) throw std::logic_error("a key of our own is busy: " + key);
  return lock;
}

void release(mortise::Lock& lock) {
  if (!lock.release()) throw std::logic_error("a lease of our own was lost");
}

std::string churn(const std::string& name) {
  std::cout << "churning" << std::endl;  // from now on the next line is not in a buffer of ours
  using Clock = std::chrono::steady_clock;
  long rounds = 0;
  Clock::duration slowest{};
  mortise::Lock held = acquired(name + ":first");
  for (; !line_is_waiting(); ++rounds) {
    const Clock::time_point start = Clock::now();
    mortise::Lock known = acquired(name);
    release(known);
    mortise::Lock next = acquired(name + ":" + std::to_string(rounds));
    release(held);
    held = std::move(next);
    slowest = std::max(slowest, Clock::now() - start);
  }
  return "churned " + std::to_string(rounds) + " " +
         std::to_string(std::chrono::ceil<milliseconds>(slowest).count());
}

class Holder {
 public:
  std::string obey(const std::string& line) {
    std::istringstream words(line);
    std::string verb;
    std::string argument;
    words >> verb >> argument;
    if (verb == "churn") return churn(argument);
    if (verb == "restore") return restore(argument);
    const std::string key = bytes_of(argument);
    if (verb == "acquire") return acquire(key, words);
    if (verb == "release") return locks_.at(key).release() ? "released" : "lost";
    if (verb == "detach") return locks_.at(key).detach() ? "detached" : "lost";
    if (verb == "serialize") return locks_.at(key).serialize();
    if (verb == "ensure") return ensure(locks_.at(key));
    if (verb == "watch") return watch(locks_.at(key));
    if (verb == "extend") return extend(locks_.at(key), words);
    throw std::invalid_argument("no such command: " + verb);
  }

 private:
  std::string restore(const std::string& text) {
    mortise::Lock lock = mortise::restore_lock(text);
    const std::string key(lock.key().bytes());
    locks_.insert_or_assign(key, std::move(lock));
    return "restored";
  }

  static std::string extend(mortise::Lock& lock, std::istream& words) {
    long ttl = 0;
    words >> ttl;
    try {
      lock.extend(milliseconds(ttl));
      return "extended";
    } catch (const mortise::LockNotHeldError&) {
      return "lost";
    }
  }

  static std::string ensure(mortise::Lock& lock) {
    try {
      lock.ensure_held();
      return "held";
    } catch (const mortise::LockNotHeldError& error) {
      return error.what();
    }
  }

  static std::string watch(mortise::Lock& lock) {
    const std::stop_token lost = lock.lost_token();
    std::cout << "watched" << std::endl;
    std::atomic<bool> is_lost = false;
    const std::stop_callback tell(lost, [&] {
      is_lost = true;
      is_lost.notify_one();
    });
    is_lost.wait(false);
    return "lost";
  }

  std::string acquire(const std::string& key, std::istream& times) {
    long ttl = 0;
    long timeout = 0;
    times >> ttl >> timeout;
    mortise::Lock lock = mortise::lock(std::string_view(key), milliseconds(ttl));
    if (!lock.acquire({.timeout = milliseconds(timeout)})) return "busy";
    locks_.insert_or_assign(key, std::move(lock));
    return "granted";
  }

  std::map<std::string, mortise::Lock> locks_;
};

}  // namespace

int main() {
  // A test that is killed by its watchdog leaves no holder behind, not even a stopped one.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  Holder holder;
  for (std::string line; std::getline(std::cin, line);) {
    try {
      std::cout << holder.obey(line) << std::endl;
    } catch (const std::exception& error) {
      std::cout << "error " << error.what() << std::endl;
    }
  }
}
