#include "screen_model.hpp"

#include <algorithm>
#include <utility>

#include "tables.hpp"
#include "text/key_text.hpp"

namespace inspect_locks {

const char* name_of(Order order) {
  switch (order) {
    case Order::contended:
      return "most contended";
    case Order::held:
      return "longest held";
    case Order::waited:
      return "longest waited for";
    case Order::left:
      return "soon to expire";
    case Order::key:
      return "key";
  }
  return "";
}

void ScreenModel::update(std::vector<mortise::LeaseInfo> leases, Clock::time_point now) {
  std::map<std::string, Clock::time_point> waited_since;
  leases_.clear();
  for (mortise::LeaseInfo& lease : leases) {
    auto since = now;
    if (lease.sleepers.value_or(0) > 0) {
      const std::string key(lease.key.bytes());
      if (const auto known = waited_since_.find(key); known != waited_since_.end()) since = known->second;
      waited_since.emplace(key, since);
    }
    leases_.push_back({std::move(lease), std::chrono::floor<std::chrono::milliseconds>(now - since)});
  }
  waited_since_ = std::move(waited_since);
}

bool ScreenModel::comes_before(const Shown& a, const Shown& b) const {
  switch (order_) {
    case Order::contended:
      return std::pair(a.lease.sleepers, a.waited) > std::pair(b.lease.sleepers, b.waited);
    case Order::held:
      return a.lease.age > b.lease.age;
    case Order::waited:
      return a.waited > b.waited;
    case Order::left:
      return a.lease.remaining < b.lease.remaining;
    case Order::key:
      break;
  }
  return a.lease.key.bytes() < b.lease.key.bytes();
}

std::vector<Row> ScreenModel::rows(Holders holders) const {
  std::vector<Shown> shown;
  for (const Shown& each : leases_) {
    if (text::escape(each.lease.key.bytes()).find(filter_) != std::string::npos) shown.push_back(each);
  }
  std::ranges::stable_sort(shown, [this](const Shown& a, const Shown& b) { return comes_before(a, b); });
  std::vector<mortise::LeaseInfo> leases;
  leases.reserve(shown.size());
  for (const Shown& each : shown) leases.push_back(each.lease);
  std::vector<Row> rows = lease_rows(leases, holders);
  rows.front().cells.emplace_back("WAITED");
  for (std::size_t i = 0; i < shown.size(); ++i)
    rows[i + 1].cells.push_back(shown[i].waited.count() > 0 ? duration_text(shown[i].waited) : "-");
  return rows;
}

}  // namespace inspect_locks
