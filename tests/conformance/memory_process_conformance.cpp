#include "conformance/memory_factory.hpp"

namespace mortise::conformance {

INSTANTIATE_TEST_SUITE_P(Memory, ProcessConformance, testing::Values(memory_factory()), name_of);

}  // namespace mortise::conformance
