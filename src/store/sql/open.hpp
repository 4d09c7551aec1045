// Which database a URL is for.
#pragma once

#include <memory>
#include <string_view>

#include "store/sql/database.hpp"

namespace mortise::sql {

std::unique_ptr<Database> open_database(std::string_view url);
// One that is there; it makes nothing.
std::unique_ptr<Database> open_existing_database(std::string_view url);

}  // namespace mortise::sql
