#include "conformance/redis_factory.hpp"

namespace mortise::conformance {

INSTANTIATE_TEST_SUITE_P(Redis, Conformance, testing::Values(redis_factory()), name_of);

}  // namespace mortise::conformance
