#include "table/forced_ends.hpp"

#include <array>
#include <ctime>

namespace mortise::table {

std::string describe(const ForcedEnd& end) {
  const std::time_t time = end.seconds;
  std::tm utc{};
  std::array<char, 64> text{};
  if (gmtime_r(&time, &utc) != nullptr) std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return "it was ended by force by process " + std::to_string(end.pid) + " of user " +
         std::to_string(end.uid) + " at " + text.data();
}

}  // namespace mortise::table
