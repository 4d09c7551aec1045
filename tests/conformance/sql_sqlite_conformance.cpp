#include "conformance/sql_sqlite_factory.hpp"

namespace mortise::conformance {

INSTANTIATE_TEST_SUITE_P(Sqlite, Conformance, testing::Values(sqlite_factory()), name_of);

}  // namespace mortise::conformance
