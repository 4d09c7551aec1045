#include "store/segment_options.hpp"

#include <sstream>
#include <stdexcept>
#include <string>

#include "table/lock_table.hpp"

namespace mortise::store {

namespace {

void check_range(const char* name, std::uint32_t value, std::uint32_t least, std::uint32_t most) {
  if (value >= least && value <= most) return;
  throw std::invalid_argument("mortise: " + std::string(name) + " must be " + std::to_string(least) + " to " +
                              std::to_string(most) + ", not " + std::to_string(value));
}

}  // namespace

void check(const SegmentOptions& options) {
  constexpr std::uint32_t kMaxProcesses = 65535;
  constexpr unsigned kAllPermissions = 0777;
  check_range("slots", options.slots, table::Geometry::kMinSlots, table::Geometry::kMaxSlots);
  check_range("processes", options.processes, 1, kMaxProcesses);
  if ((options.mode & ~kAllPermissions) != 0) {
    std::ostringstream text;
    text << "mortise: mode must be 0 to 0777, not 0" << std::oct << options.mode;
    throw std::invalid_argument(text.str());
  }
}

segment::Plan plan_of(const SegmentOptions& options) {
  const bool file_lock = options.guard == ShapeGuard::file_lock;
  return table::LockTable::plan(options.slots, options.processes,
                                file_lock ? segment::Guard::file_lock : segment::Guard::robust_mutex);
}

}  // namespace mortise::store
