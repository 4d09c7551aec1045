// A worker in C++: our own locks. See interop_test.py for what it is told.
#include <chrono>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <mortise/mortise.hpp>
#include <mortise/redis_lock_store.hpp>
#include <string>
#include <utility>

namespace {

using namespace std::chrono_literals;
using mortise::Lock;

class Worker {
 public:
  Worker(const std::string& socket, std::string counter)
      : counter_(std::move(counter)),
        store_(std::make_shared<mortise::RedisLockStore>("redis+unix:" + socket + "?prefix=")) {}

  bool acquire(const std::string& key, std::chrono::milliseconds ttl) {
    Lock lock = mortise::lock(key, ttl, store_);
    const bool granted = lock.acquire_immediately();
    if (granted) locks_.insert_or_assign(key, std::move(lock));
    return granted;
  }
  bool release(const std::string& key) { return locks_.contains(key) && locks_.at(key).release(); }
  bool extend(const std::string& key, std::chrono::milliseconds ttl) {
    try {
      locks_.at(key).extend(ttl);
      return true;
    } catch (const mortise::LockNotHeldError&) {
      return false;
    }
  }
  bool count(const std::string& key, long rounds) {
    for (long i = 0; i < rounds; ++i) {
      Lock lock = mortise::lock(key, 20s, store_);
      if (!lock.run([&] { add_one(); }, {.timeout = 60s, .retry_delay = 1ms})) return false;
    }
    return true;
  }

 private:
  void add_one() const {
    int count = 0;
    std::ifstream(counter_) >> count;
    std::ofstream(counter_) << count + 1;
  }

  std::string counter_;  // a file
  std::shared_ptr<mortise::LockStore> store_;
  std::map<std::string, Lock> locks_;
};

}  // namespace

int main(int, char** argv) {
  Worker worker(argv[1], argv[2]);
  std::string verb;
  std::string key;
  long number = 0;
  while (std::cin >> verb >> key && (verb == "release" || std::cin >> number)) {
    const bool done = verb == "acquire"   ? worker.acquire(key, std::chrono::milliseconds(number))
                      : verb == "extend"  ? worker.extend(key, std::chrono::milliseconds(number))
                      : verb == "release" ? worker.release(key)
                                          : worker.count(key, number);
    std::cout << (done ? "yes" : "no") << std::endl;
  }
}
