// A store that somebody wrote for himself: the contract's six functions and nothing else. Proves the defaults
// of LockStore, and that the suite asks for nothing that the contract does not promise.
#include "conformance/conformance.hpp"
#include "support/map_lock_store.hpp"

namespace mortise::conformance {

INSTANTIATE_TEST_SUITE_P(
    Custom, Conformance,
    testing::Values(StoreFactory{
        .name = "Map",
        .make = [] { return [store = std::make_shared<test::MapLockStore>()] { return store; }; }}),
    name_of);

}  // namespace mortise::conformance
