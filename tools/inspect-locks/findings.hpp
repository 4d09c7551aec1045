// What a check found, for people.
#pragma once

#include <span>
#include <string>

#include "mortise/inspect.hpp"

namespace inspect_locks {

// No damage; notes are none.
bool is_sound(std::span<const mortise::Finding> findings);

// "damage" or "note".
const char* name_of(mortise::Finding::Severity severity);

// One line for each repair and each finding, and a last one with the verdict.
std::string render_lines(const mortise::RepairReport& report);

}  // namespace inspect_locks
