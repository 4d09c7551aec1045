// What there is of TLS without OpenSSL.
#include "mortise/errors.hpp"
#include "store/redis/tls.hpp"

namespace mortise::store::redis {

std::shared_ptr<const TlsContext> make_tls_context(const TlsFiles&, std::string&) {
  throw StoreError(StoreErrc::unsupported,
                   "mortise: this build knows no TLS: build it with OpenSSL (libssl-dev), or use redis:// "
                   "through a tunnel");
}

}  // namespace mortise::store::redis
