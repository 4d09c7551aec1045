#include "metrics.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <optional>
#include <vector>

#include "text/key_text.hpp"

namespace inspect_locks {
namespace {

// As the text of a label stands between its quotes. The bytes of a key were escaped before, so that it is
// UTF-8 and the same text as everywhere.
std::string quoted(std::string_view bytes) {
  std::string label = "\"";
  for (const char byte : text::escape(bytes)) {
    if (byte == '"' || byte == '\\') label += '\\';
    label += byte;
  }
  return label += '"';
}

std::string seconds(std::chrono::milliseconds time) {
  std::array<char, 32> text{};
  const double count = std::chrono::duration<double>(time).count();
  const auto end = std::to_chars(text.data(), text.data() + text.size(), count, std::chars_format::fixed, 3);
  return {text.data(), end.ptr};
}

class Page {
 public:
  void family(std::string_view name, std::string_view type, std::string_view help,
              std::string_view unit = "") {
    text_.append("# TYPE ").append(name).append(" ").append(type).append("\n");
    if (!unit.empty()) text_.append("# UNIT ").append(name).append(" ").append(unit).append("\n");
    text_.append("# HELP ").append(name).append(" ").append(help).append("\n");
  }
  void sample(std::string_view name, std::string_view labels, std::string_view value) {
    text_.append(name).append(labels).append(" ").append(value).append("\n");
  }
  template <typename Number>
  void gauge(std::string_view name, const std::optional<Number>& value, std::string_view help) {
    if (!value) return;
    family(name, "gauge", help);
    sample(name, "", std::to_string(*value));
  }
  std::string end() { return text_ += "# EOF\n"; }

 private:
  std::string text_;
};

std::string key_label(const mortise::LeaseInfo& lease) {
  return "{key=" + quoted(lease.key.bytes()) + "}";
}

std::string labels_of(const mortise::LeaseInfo& lease) {
  std::string labels = "{key=" + quoted(lease.key.bytes());
  if (lease.holder)
    labels += ",pid=\"" + std::to_string(lease.holder->pid) + "\",command=" + quoted(lease.holder->command);
  return labels + "}";
}

void add_counter(Page& page, const std::string& name, std::uint64_t value, std::string_view help) {
  page.family(name, "counter", help);
  page.sample(name + "_total", "", std::to_string(value));
}

void add_counters(Page& page, const mortise::Counters& counters) {
  add_counter(page, "mortise_grants", counters.grants, "Leases granted.");
  add_counter(page, "mortise_busy", counters.busy, "Acquires that ended because somebody else held the key.");
  add_counter(page, "mortise_expired", counters.expired, "Leases found expired by who took their place.");
  add_counter(page, "mortise_orphaned", counters.orphaned, "Leases ended because their process was dead.");
}

void add_waits(Page& page, const mortise::StoreStats& stats) {
  page.family("mortise_wait_seconds", "histogram", "Acquires that did not get the key at once and waited.",
              "seconds");
  std::uint64_t waits = 0;
  for (const auto& [bound, count] : stats.waits_by_length) {
    waits += count;
    const std::string label = bound ? seconds(*bound) : "+Inf";
    page.sample("mortise_wait_seconds_bucket", "{le=\"" + label + "\"}", std::to_string(waits));
  }
  page.sample("mortise_wait_seconds_count", "", std::to_string(waits));
  page.sample("mortise_wait_seconds_sum", "",
              seconds(std::chrono::floor<std::chrono::milliseconds>(stats.counters->waited)));
}

void add_contention(Page& page, const std::vector<mortise::LeaseInfo>& leases) {
  page.family("mortise_key_busy", "counter", "Acquires of the key that somebody else held.");
  for (const auto& lease : leases) {
    if (lease.counters)
      page.sample("mortise_key_busy_total", key_label(lease), std::to_string(lease.counters->busy));
  }
  page.family("mortise_key_waits", "counter", "Waits for the key.");
  for (const auto& lease : leases) {
    if (lease.counters)
      page.sample("mortise_key_waits_total", key_label(lease), std::to_string(lease.counters->waits));
  }
}

void add_leases(Page& page, const std::vector<mortise::LeaseInfo>& leases) {
  page.family("mortise_lease_remaining_seconds", "gauge", "Until the lease expires.", "seconds");
  for (const auto& lease : leases)
    page.sample("mortise_lease_remaining_seconds", labels_of(lease), seconds(lease.remaining));
  page.family("mortise_lease_age_seconds", "gauge", "Since the lease was granted.", "seconds");
  for (const auto& lease : leases) {
    if (lease.age) page.sample("mortise_lease_age_seconds", labels_of(lease), seconds(*lease.age));
  }
  page.family("mortise_lease_sleepers", "gauge", "Waiters that sleep for the key of the lease.");
  for (const auto& lease : leases) {
    if (lease.sleepers)
      page.sample("mortise_lease_sleepers", labels_of(lease), std::to_string(*lease.sleepers));
  }
}

}  // namespace

std::string render_metrics(std::string_view shown_store, const mortise::StoreView& view) {
  const mortise::StoreStats stats = view.stats();
  Page page;
  page.family("mortise_store", "info", "Which store this is.");
  page.sample("mortise_store_info", "{store=" + quoted(shown_store) + "}", "1");
  page.gauge("mortise_leases", std::optional(stats.leases), "Leases that have not expired.");
  page.gauge("mortise_sleepers", stats.sleepers, "Waiters that sleep at this moment.");
  page.gauge("mortise_slots", stats.slots, "Keys that there is room for.");
  page.gauge("mortise_known_keys", stats.known_keys, "Keys that have a slot, held or not.");
  page.gauge("mortise_fullest_stripe_percent", stats.fullest_stripe,
             "Held slots of the fullest stripe: at 100 it refuses new keys.");
  page.gauge("mortise_process_slots", stats.process_slots, "Processes that there is room for.");
  page.gauge("mortise_processes", stats.processes, "Processes that are attached.");
  if (stats.counters) add_counters(page, *stats.counters);
  if (stats.counters && !stats.waits_by_length.empty()) add_waits(page, stats);
  const std::vector<mortise::LeaseInfo> leases = view.leases();
  add_leases(page, leases);
  add_contention(page, leases);
  return page.end();
}

}  // namespace inspect_locks
