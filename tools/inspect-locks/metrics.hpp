// A store as OpenMetrics text, for Prometheus.
#pragma once

#include <string>
#include <string_view>

#include "mortise/inspect.hpp"

namespace inspect_locks {

// How full the store is, and a few numbers for each lease. What the store does not know has no sample.
std::string render_metrics(std::string_view shown_store, const mortise::StoreView& view);

}  // namespace inspect_locks
