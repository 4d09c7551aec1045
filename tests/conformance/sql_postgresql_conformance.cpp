#include "conformance/sql_postgresql_factory.hpp"

namespace mortise::conformance {

const auto* const kServer = test::SharedServer::add();

INSTANTIATE_TEST_SUITE_P(Postgresql, Conformance, testing::Values(postgresql_factory()), name_of);

}  // namespace mortise::conformance
