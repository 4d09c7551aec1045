#include "conformance/conformance.hpp"

namespace mortise::conformance {

void PrintTo(const StoreFactory& factory, std::ostream* out) {
  *out << factory.name;
}

std::string name_of(const testing::TestParamInfo<StoreFactory>& info) {
  return info.param.name;
}

}  // namespace mortise::conformance
