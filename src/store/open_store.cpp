#include "mortise/open_store.hpp"

#include "mortise/memory_lock_store.hpp"
#include "mortise/shm_lock_store.hpp"
#include "store/backends.hpp"
#include "store/store_url.hpp"
#include "store/url.hpp"

namespace mortise {

std::shared_ptr<LockStore> open_store(std::string_view url) {
  if (const store::Url whole = store::split_url(url); !store::is_table_scheme(whole.scheme))
    return store::backend_of(whole).open_store(url);
  const store::StoreUrl parsed = store::parse_store_url(url);
  if (parsed.scheme == store::StoreUrl::Scheme::memory)
    return std::make_shared<MemoryLockStore>(parsed.options);
  return std::make_shared<ShmLockStore>(parsed.path, parsed.options);
}

}  // namespace mortise
