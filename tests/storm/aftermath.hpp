// Is the table whole when the storm is over?
#pragma once

#include <string>

#include "world.hpp"

namespace mortise::storm {

// When all workers are dead. What is wrong becomes a finding.
void inspect_aftermath(const std::string& store_url, World& world);

}  // namespace mortise::storm
