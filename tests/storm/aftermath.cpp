#include "aftermath.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <thread>
#include <vector>

#include "mortise/inspect.hpp"
#include "mortise/mortise.hpp"
#include "worker.hpp"

namespace mortise::storm {

namespace {

using namespace std::chrono_literals;

class Inspection {
 public:
  Inspection(const std::string& store_url, World& world)
      : world_(world), view_(open_view(store_url)), store_(open_store(store_url)) {}

  void run() {
    const std::vector<LockKey> detached = detached_keys();
    const auto is_detached = [&](const LockKey& key) {
      return std::find(detached.begin(), detached.end(), key) != detached.end();
    };
    for (KeyIndex index = 0; index < kAllKeys; ++index) {
      if (!is_detached(key_of(index))) expect_free(index);
    }
    std::this_thread::sleep_for(kLongestDetached + 5ms);
    for (KeyIndex index = 0; index < kAllKeys; ++index) expect_free(index);
    if (!view_->leases().empty()) world_.findings.add("afterwards: there is a lease that nobody asked for");
  }

 private:
  // The dead may still be shown as holders. They keep nobody out, as expect_free() proves.
  std::vector<LockKey> detached_keys() {
    std::vector<LockKey> detached;
    for (const LeaseInfo& lease : view_->leases()) {
      if (lease.holder && lease.holder->alive) complain(lease.key, "is held by a process, and there is none");
      if (lease.sleepers > 0) complain(lease.key, "has sleepers, and there is no process");
      if (lease.holder) continue;
      if (lease.remaining > kLongestDetached)
        complain(lease.key, "is held for longer than any was handed over");
      detached.push_back(lease.key);
    }
    return detached;
  }

  void expect_free(KeyIndex index) {
    Lock lock(key_of(index), 10s, store_);
    if (!lock.acquire_immediately()) return complain(lock.key(), "is not free");
    if (lock.fencing_token() <= world_.resources[index].highest())
      complain(lock.key(), "has a fencing number that is not new");
    if (!lock.release()) complain(lock.key(), "was lost");
  }

  void complain(const LockKey& key, const std::string& sentence) {
    const std::string_view name = key.bytes().substr(0, key.bytes().rfind(' '));
    world_.findings.add("afterwards: " + std::string(name) + ' ' + sentence);
  }

  World& world_;
  std::unique_ptr<StoreView> view_;
  std::shared_ptr<LockStore> store_;
};

[[noreturn]] void inspect_in_child(const std::string& store_url, World& world) {
  constexpr unsigned kSeconds = 30;
  alarm(kSeconds);
  try {
    Inspection(store_url, world).run();
  } catch (const std::exception& error) {
    world.findings.add(std::string("afterwards: ") + error.what());
  }
  _exit(0);
}

}  // namespace

// In a child, so that the supervisor does not open the store.
void inspect_aftermath(const std::string& store_url, World& world) {
  const pid_t child = fork();
  if (child == 0) inspect_in_child(store_url, world);
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0)
    world.findings.add("afterwards: the inspection ended with status " + std::to_string(status));
}

}  // namespace mortise::storm
