// Where the schemes of Redis join open_store().
#include <memory>
#include <string>
#include <string_view>

#include "mortise/errors.hpp"
#include "mortise/redis_lock_store.hpp"
#include "mortise/store_backend.hpp"
#include "store/redis/redis_view.hpp"
#include "store/url.hpp"

namespace mortise {

namespace {

std::shared_ptr<LockStore> open_redis(std::string_view url) {
  return std::make_shared<RedisLockStore>(url);
}

[[noreturn]] void refuse_tls(std::string_view url) {
  throw StoreError(StoreErrc::unsupported,
                   "mortise: store URL " + store::quoted(store::without_password(url)) +
                       ": this build of mortise speaks no TLS; use redis:// through a tunnel");
}

const bool kIsRegistered = [] {
  const StoreBackend redis{open_redis, store::redis::open_view, store::redis::force_release};
  for (const std::string_view scheme : {"redis", "redis+unix", "redis+sentinel", "redis+cluster"})
    register_store_backend(scheme, redis);
  register_store_backend("rediss",
                         {[](std::string_view url) -> std::shared_ptr<LockStore> { refuse_tls(url); }});
  return true;
}();

}  // namespace

}  // namespace mortise

// The linker is told to look for it, and so finds the registration above (see MortiseStore.cmake).
extern "C" const char mortise_redis_store = 0;  // NOLINT(readability-identifier-naming)
