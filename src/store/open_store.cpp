#include "mortise/open_store.hpp"

#include "mortise/memory_lock_store.hpp"
#include "mortise/shm_lock_store.hpp"
#include "store/store_url.hpp"

namespace mortise {

std::shared_ptr<LockStore> open_store(std::string_view url) {
  const store::StoreUrl parsed = store::parse_store_url(url);
  if (parsed.scheme == store::StoreUrl::Scheme::memory)
    return std::make_shared<MemoryLockStore>(parsed.options);
  return std::make_shared<ShmLockStore>(parsed.path, parsed.options);
}

}  // namespace mortise
