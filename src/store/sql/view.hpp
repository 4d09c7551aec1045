// Looking at the leases in a database, and ending them.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "mortise/inspect.hpp"

namespace mortise::sql {

std::unique_ptr<StoreView> open_view(std::string_view url);
std::optional<LeaseInfo> force_release(std::string_view url, const LockKey& key);

}  // namespace mortise::sql
