#include "mortise/inspect.hpp"

#include <algorithm>
#include <utility>

#include "store/store_url.hpp"
#include "table/geometry.hpp"
#include "table/lock_table.hpp"
#include "table/snapshot.hpp"

namespace mortise {

namespace {

class SegmentView final : public StoreView {
 public:
  explicit SegmentView(std::shared_ptr<const segment::Segment> segment) : segment_(std::move(segment)) {}

  [[nodiscard]] std::vector<LeaseInfo> leases() const override {
    std::vector<LeaseInfo> found;
    for (const table::LeaseRecord& record : table::snapshot(*segment_)) found.push_back(to_info(record));
    std::sort(found.begin(), found.end(),
              [](const LeaseInfo& a, const LeaseInfo& b) { return a.key.bytes() < b.key.bytes(); });
    return found;
  }

  [[nodiscard]] std::optional<LeaseInfo> lease(const LockKey& key) const override {
    for (LeaseInfo& info : leases()) {
      if (info.key == key) return std::move(info);
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] LeaseInfo to_info(const table::LeaseRecord& record) const {
    const auto since = [](sys::TimePoint from, sys::TimePoint to) {
      const auto time = std::chrono::floor<std::chrono::milliseconds>(to - from);
      return std::max(time, std::chrono::milliseconds(0));
    };
    std::optional<HolderInfo> holder;
    if (const std::uint64_t binding = record.lease.binding(); binding != table::Lease::kUnbound) {
      auto [pid, pid_namespace, command, alive] =
          segment_->processes().info(static_cast<segment::ProcessSlot>(binding - 1));
      holder = HolderInfo{pid, pid_namespace, std::move(command), alive};
    }
    return {LockKey(record.key),
            std::move(holder),
            since(record.granted_at, record.seen_at),
            since(record.seen_at, record.lease.expiry()),
            record.fence,
            record.sleepers};
  }

  std::shared_ptr<const segment::Segment> segment_;
};

}  // namespace

std::unique_ptr<StoreView> open_view(std::string_view url) {
  const store::StoreUrl parsed = store::parse_store_url(url);
  if (parsed.scheme == store::StoreUrl::Scheme::memory) {
    throw StoreError(StoreErrc::unsupported, "a memory store cannot be seen from outside its process");
  }
  auto segment = segment::Segment::view(parsed.path, table::layout_fingerprint());
  if (!table::LockTable::fits(*segment)) {
    throw StoreError(StoreErrc::corrupt, parsed.path + " contradicts itself; stop its users and remove it");
  }
  return std::make_unique<SegmentView>(std::move(segment));
}

}  // namespace mortise
