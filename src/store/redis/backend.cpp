// Where the schemes of Redis join open_store().
#include <memory>
#include <string_view>

#include "mortise/redis_lock_store.hpp"
#include "mortise/store_backend.hpp"
#include "store/redis/redis_view.hpp"

namespace mortise {

namespace {

std::shared_ptr<LockStore> open_redis(std::string_view url) {
  return std::make_shared<RedisLockStore>(url);
}

const bool kIsRegistered = [] {
  const StoreBackend redis{open_redis, store::redis::open_view, store::redis::force_release};
  for (const std::string_view scheme : {"redis", "redis+unix", "redis+sentinel", "redis+cluster", "rediss",
                                        "rediss+sentinel", "rediss+cluster"})
    register_store_backend(scheme, redis);
  return true;
}();

}  // namespace

}  // namespace mortise

// The linker is told to look for it, and so finds the registration above (see MortiseStore.cmake).
extern "C" const char mortise_redis_store = 0;  // NOLINT(readability-identifier-naming)
