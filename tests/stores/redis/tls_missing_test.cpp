// A build without OpenSSL.
#include <gtest/gtest.h>

#include <string>

#include "mortise/errors.hpp"
#include "store/redis/tls.hpp"

namespace mortise::store::redis {
namespace {

TEST(RedisTlsMissing, IsAnErrorThatSaysWhatToDo) {
  std::string failure;
  try {
    make_tls_context({}, failure);
    ADD_FAILURE() << "there is a context";
  } catch (const StoreError& error) {
    EXPECT_EQ(error.code(), StoreErrc::unsupported);
    EXPECT_NE(std::string(error.what()).find("build it with OpenSSL"), std::string::npos);
  }
}

}  // namespace
}  // namespace mortise::store::redis
