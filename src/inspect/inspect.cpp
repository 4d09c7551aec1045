#include "mortise/inspect.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <numeric>
#include <tuple>
#include <utility>

#include "segment/exclusion.hpp"
#include "store/backends.hpp"
#include "store/segment_options.hpp"
#include "store/store_url.hpp"
#include "store/url.hpp"
#include "table/check.hpp"
#include "table/geometry.hpp"
#include "table/lock_table.hpp"
#include "table/overhaul.hpp"
#include "table/snapshot.hpp"

namespace mortise {

namespace {

Finding to_finding(const table::Flaw& flaw) {
  return {table::is_damage(flaw.fault) ? Finding::Severity::damage : Finding::Severity::note,
          table::describe(flaw)};
}

Finding to_finding(segment::ProcessSlot unrecorded) {
  return {Finding::Severity::note,
          "process slot " + std::to_string(unrecorded) +
              ": it is taken, and its record does not say by whom; its process is attaching, or was stopped "
              "while it did"};
}

std::chrono::milliseconds since(sys::TimePoint from, sys::TimePoint to) {
  return std::max(std::chrono::floor<std::chrono::milliseconds>(to - from), std::chrono::milliseconds(0));
}

HolderInfo info_of(const segment::Segment& segment, segment::ProcessSlot slot) {
  auto [pid, pid_namespace, command, alive] = segment.processes().info(slot);
  return {pid, pid_namespace, std::move(command), alive};
}

Counters to_counters(const table::Counts& counts) {
  return {counts.grants, counts.busy, counts.waits, counts.waited, counts.expired, counts.orphaned};
}

LeaseInfo to_info(const segment::Segment& segment, const table::LeaseRecord& record) {
  std::optional<HolderInfo> holder;
  if (const std::uint64_t binding = record.lease.binding(); binding != table::Lease::kUnbound) {
    holder = info_of(segment, static_cast<segment::ProcessSlot>(binding - 1));
  }
  return {LockKey(record.key),
          std::move(holder),
          since(record.granted_at, record.seen_at),
          since(record.seen_at, record.lease.expiry()),
          record.fence,
          record.sleepers,
          to_counters(record.counts)};
}

class SegmentView final : public StoreView {
 public:
  explicit SegmentView(std::shared_ptr<const segment::Segment> segment) : segment_(std::move(segment)) {}

  [[nodiscard]] std::vector<LeaseInfo> leases() const override {
    std::vector<LeaseInfo> found;
    for (const table::LeaseRecord& record : table::snapshot(*segment_))
      found.push_back(to_info(*segment_, record));
    std::sort(found.begin(), found.end(),
              [](const LeaseInfo& a, const LeaseInfo& b) { return a.key.bytes() < b.key.bytes(); });
    return found;
  }

  [[nodiscard]] std::optional<LeaseInfo> lease(const LockKey& key) const override {
    const auto record = table::snapshot(*segment_, key);
    return record ? std::optional(to_info(*segment_, *record)) : std::nullopt;
  }

  [[nodiscard]] bool knows_processes() const override { return true; }

  [[nodiscard]] std::optional<Counters> counters(const LockKey& key) const override {
    const auto counted = table::counts(*segment_, key);
    return counted ? std::optional(to_counters(*counted)) : std::nullopt;
  }

  [[nodiscard]] std::vector<AttachedProcess> processes() const override {
    const std::vector<std::size_t> leases_of = table::count(*segment_).leases_of;
    std::vector<AttachedProcess> found;
    for (std::uint32_t i = 0; i < segment_->processes().count(); ++i) {
      const auto slot = static_cast<segment::ProcessSlot>(i);
      if (!segment_->processes().was_used(slot)) continue;
      const std::size_t leases = leases_of[table::Lease::bound_to(slot)];
      HolderInfo process = info_of(*segment_, slot);
      if (process.alive || leases > 0) found.push_back({std::move(process), leases});
    }
    std::ranges::sort(found, {}, [](const AttachedProcess& each) { return each.process.pid; });
    return found;
  }

  [[nodiscard]] StoreStats stats() const override {
    constexpr unsigned kPercent = 100;
    const table::Census census = table::count(*segment_);
    std::size_t attached = 0;
    for (std::uint32_t i = 0; i < segment_->processes().count(); ++i) {
      if (segment_->processes().is_alive(static_cast<segment::ProcessSlot>(i))) ++attached;
    }
    StoreStats stats;
    stats.leases = std::accumulate(census.leases_of.begin(), census.leases_of.end(), std::size_t{0});
    stats.sleepers = census.sleepers;
    stats.slots = census.slots;
    stats.known_keys = census.keys;
    stats.fullest_stripe = census.fullest_stripe * kPercent / table::kSlotsPerStripe;
    stats.process_slots = segment_->processes().count();
    stats.processes = attached;
    stats.counters = to_counters(census.counts);
    for (std::size_t i = 0; i < census.waits_by_length.size(); ++i) {
      const auto& bounds = table::TableTally::kWaitBounds;
      stats.waits_by_length.push_back(
          {i < bounds.size() ? std::optional(bounds[i]) : std::nullopt, census.waits_by_length[i]});
    }
    return stats;
  }

  [[nodiscard]] std::vector<Finding> check() const override {
    std::vector<Finding> findings;
    for (const table::Flaw& flaw : table::check(*segment_)) findings.push_back(to_finding(flaw));
    for (const segment::ProcessSlot slot : table::unrecorded_processes(*segment_))
      findings.push_back(to_finding(slot));
    return findings;
  }

 private:
  std::shared_ptr<const segment::Segment> segment_;
};

// What the URL's store is made of, when it is none of this library's own.
std::optional<StoreBackend> foreign_backend(std::string_view url) {
  const store::Url parts = store::split_url(url);
  if (store::is_table_scheme(parts.scheme)) return std::nullopt;
  return store::backend_of(parts);
}

[[noreturn]] void refuse_as_unsupported(const std::string& sentence) {
  throw StoreError(StoreErrc::unsupported, sentence);
}

// A URL that names a segment.
store::StoreUrl parse(std::string_view url) {
  store::StoreUrl parsed = store::parse_store_url(url);
  if (parsed.scheme == store::StoreUrl::Scheme::memory) {
    refuse_as_unsupported("a memory store cannot be seen from outside its process");
  }
  return parsed;
}

void require_fit(const segment::Segment& segment) {
  if (!table::LockTable::fits(segment)) {
    throw StoreError(StoreErrc::corrupt,
                     segment.name() + " contradicts itself; stop its users and remove it");
  }
}

std::shared_ptr<const segment::Segment> view_of(const store::StoreUrl& url) {
  auto segment = segment::Segment::view(url.path, table::layout_fingerprint());
  require_fit(*segment);
  return segment;
}

// For writing; one that is not there is not made.
std::shared_ptr<segment::Segment> existing_segment(const store::StoreUrl& url) {
  std::ignore = view_of(url);
  auto segment = segment::Segment::open(url.path, store::plan_of(url.options),
                                        {url.options.mode, url.options.only_own_file});
  require_fit(*segment);
  return segment;
}

[[noreturn]] void refuse_to_repair(const segment::Segment& segment, int error) {
  if (error != EAGAIN) {
    throw StoreError(StoreErrc::cannot_open, segment.name() + " cannot be kept from its users: " +
                                                 std::generic_category().message(error));
  }
  std::string users;
  for (std::uint32_t i = 0; i < segment.processes().count(); ++i) {
    const auto [pid, pid_namespace, command, alive] =
        segment.processes().info(static_cast<segment::ProcessSlot>(i));
    if (alive) users += (users.empty() ? "" : ", ") + std::to_string(pid) + " (" + command + ")";
  }
  throw StoreError(StoreErrc::in_use, segment.name() + " is in use by process " +
                                          (users.empty() ? "that comes or goes just now" : users) +
                                          "; stop its users, then repair it");
}

}  // namespace

std::vector<AttachedProcess> StoreView::processes() const {
  refuse_as_unsupported("this store does not know the processes that use it");
}

StoreStats StoreView::stats() const {
  StoreStats stats;
  stats.leases = leases().size();
  return stats;
}

std::vector<Finding> StoreView::check() const {
  refuse_as_unsupported("this store cannot be checked");
}

std::unique_ptr<StoreView> open_view(std::string_view url) {
  if (const auto backend = foreign_backend(url)) {
    if (backend->open_view == nullptr) refuse_as_unsupported("this store cannot be looked into");
    return backend->open_view(url);
  }
  return std::make_unique<SegmentView>(view_of(parse(url)));
}

namespace {

// By a release with the token of the lease that was seen: so nobody else's is ended, and waiters are woken.
bool end_by_force(table::LockTable& table, const LockKey& key, OwnerToken owner) {
  table::ForcedEnds& ends = table.forced_ends();
  const auto note = ends.write(owner, {getpid(), getuid(), std::time(nullptr)});
  if (!table.release(key, owner)) {
    ends.take_back(note);
    return false;
  }
  ends.count();
  return true;
}

}  // namespace

std::optional<LeaseInfo> force_release(std::string_view url, const LockKey& key) {
  if (const auto backend = foreign_backend(url)) {
    if (backend->force_release == nullptr)
      refuse_as_unsupported("leases of this store cannot be ended by others than their holders");
    return backend->force_release(url, key);
  }
  const auto segment = existing_segment(parse(url));
  table::LockTable table(segment);
  for (;;) {
    const auto record = table::snapshot(*segment, key);
    if (!record) return std::nullopt;
    LeaseInfo info = to_info(*segment, *record);
    if (info.holder && !info.holder->alive) return std::nullopt;
    if (end_by_force(table, key, OwnerToken::from_number(record->lease.token()))) return info;
  }
}

RepairReport repair_store(std::string_view url) {
  if (foreign_backend(url)) refuse_as_unsupported("only a store in shared memory can be repaired");
  const auto segment = existing_segment(parse(url));
  const segment::Exclusion exclusion(*segment);
  if (!exclusion.in_force()) refuse_to_repair(*segment, exclusion.error());
  table::Overhaul overhaul = table::overhaul(*segment, exclusion);
  RepairReport report{std::move(overhaul.done), {}};
  for (const table::Flaw& flaw : overhaul.left) report.left.push_back(to_finding(flaw));
  return report;
}

}  // namespace mortise
