// What a process leaves behind when it dies in the middle of changing a stripe's shape.
#pragma once

#include "table/stripe.hpp"

namespace mortise::table {

// Called by who holds the mutex of a dead owner. Does nothing to a stripe that is whole, and may be cut short
// and begun again at any instruction.
void repair(StripeRef stripe) noexcept;

}  // namespace mortise::table
