#include <unistd.h>

#include <tuple>

#include "conformance/conformance.hpp"

namespace mortise::conformance {

using test::Channel;
using test::ChildProcess;

void ProcessConformance::SetUp() {
  if (!GetParam().shared_between_processes)
    GTEST_SKIP() << "the leases of this store are not shared between processes";
}

ChildProcess ProcessConformance::holder(LockKey key, Ttl ttl) const {
  return ChildProcess([&](Channel& test) {
    Lock lock = handle(std::move(key), ttl);
    test.send(lock.acquire_immediately() ? "granted" : "refused");
    std::ignore = test.receive();
  });
}

ChildProcess ProcessConformance::waiter(LockKey key, AcquireOptions options) const {
  return ChildProcess([&](Channel& test) {
    Lock lock = handle(std::move(key));
    test.send("waiting");
    test.send(lock.acquire(options) ? "granted" : "refused");
  });
}

bool ProcessConformance::is_free_elsewhere(LockKey key) const {
  ChildProcess other([&](Channel&) { _exit(is_free(std::move(key)) ? 0 : 1); });
  return other.wait() == 0;
}

void ProcessConformance::expect_held(Lock& lock) const {
  EXPECT_FALSE(is_free_elsewhere(lock.key()));
  EXPECT_FALSE(lock.is_expired());
  EXPECT_NO_THROW(lock.extend());
  EXPECT_TRUE(lock.release());
  EXPECT_TRUE(is_free_elsewhere(lock.key()));
}

}  // namespace mortise::conformance
