#include "conformance/shm_factory.hpp"

namespace mortise::conformance {

INSTANTIATE_TEST_SUITE_P(Shm, Conformance, testing::Values(shm_factory()), name_of);

}  // namespace mortise::conformance
