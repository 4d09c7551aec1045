#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "mortise/open_store.hpp"
#include "sys/fork.hpp"

namespace mortise {

namespace {

// Never destroyed: handles of static storage duration may ask for it last.
struct DefaultStore {
  std::shared_ptr<LockStore> store;        // under the mutex
  std::atomic<std::uint64_t> version = 1;  // grows when `store` changes
};
DefaultStore& default_store() {
  static auto* const instance = new DefaultStore;
  return *instance;
}

// Each thread keeps its own reference, so that making a lock takes no mutex. It is gone before objects of
// static storage duration are, whose destructors may make locks too.
thread_local bool reference_lives = true;
struct Reference {
  std::shared_ptr<LockStore> store;
  std::uint64_t version = 0;
  Reference() = default;
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;
  ~Reference() { reference_lives = false; }
};
thread_local Reference reference;

std::mutex& default_store_mutex() {
  return sys::process_mutex(sys::ProcessWide::default_store);
}

}  // namespace

std::string default_store_url() {
  const char* url = std::getenv("MORTISE_STORE");
  return url != nullptr && *url != '\0' ? url : "shm:";
}

std::shared_ptr<LockStore> lock_store() {
  DefaultStore& current = default_store();
  if (reference_lives && reference.version == current.version.load(std::memory_order_acquire))
    return reference.store;

  const std::lock_guard guard(default_store_mutex());
  if (!current.store) current.store = open_store(default_store_url());
  if (!reference_lives) return current.store;
  reference.store = current.store;
  reference.version = current.version.load(std::memory_order_relaxed);
  return reference.store;
}

void set_lock_store(std::shared_ptr<LockStore> store) {
  const std::lock_guard guard(default_store_mutex());
  default_store().store.swap(store);
  default_store().version.fetch_add(1, std::memory_order_release);
}

}  // namespace mortise
