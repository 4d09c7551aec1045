#include "json.hpp"

#include <nlohmann/json.hpp>

#include "findings.hpp"
#include "process_state.hpp"
#include "text/key_text.hpp"

namespace inspect_locks {
namespace {

// Keeps the order in which the fields are documented.
using Json = nlohmann::ordered_json;

Json json_of(const std::optional<mortise::HolderInfo>& holder) {
  if (!holder) return nullptr;
  return {{"pid", holder->pid},
          {"pid_namespace", holder->pid_namespace},
          {"command", text::escape(holder->command)},
          {"alive", holder->alive}};
}

template <typename Number>
Json json_of(const std::optional<Number>& number) {
  return number ? Json(*number) : Json(nullptr);
}

Json json_of(const std::optional<mortise::Counters>& counters) {
  if (!counters) return nullptr;
  return {{"grants", counters->grants},   {"busy", counters->busy},
          {"expired", counters->expired}, {"orphaned", counters->orphaned},
          {"waits", counters->waits},     {"waited_us", counters->waited.count()}};
}

Json json_of(const mortise::LeaseInfo& lease, Holders holders) {
  return {{"key", text::escape(lease.key.bytes())},
          {"key_hex", text::hex(lease.key.bytes())},
          {"holder", json_of(lease.holder)},
          {"handed_over", holders == Holders::known ? Json(!lease.holder) : Json(nullptr)},
          {"age_ms", lease.age ? Json(lease.age->count()) : Json(nullptr)},
          {"remaining_ms", lease.remaining.count()},
          {"fencing_token", json_of(lease.fencing_token)},
          {"sleepers", json_of(lease.sleepers)},
          {"counters", json_of(lease.counters)}};
}

std::string text_of(const Json& json) {
  return json.dump(2) + '\n';
}

}  // namespace

std::string render_json(std::string_view store_url, std::span<const mortise::LeaseInfo> leases,
                        Holders holders) {
  Json locks = Json::array();
  for (const mortise::LeaseInfo& lease : leases) locks.push_back(json_of(lease, holders));
  return text_of({{"store", text::escape(store_url)}, {"locks", std::move(locks)}});
}

std::string render_json(std::string_view store_url, const mortise::RepairReport& report) {
  Json findings = Json::array();
  for (const mortise::Finding& finding : report.left)
    findings.push_back({{"severity", name_of(finding.severity)}, {"sentence", finding.sentence}});
  return text_of({{"store", text::escape(store_url)},
                  {"sound", is_sound(report.left)},
                  {"findings", std::move(findings)},
                  {"repairs", report.repairs}});
}

std::string render_json(std::string_view store_url, std::span<const mortise::AttachedProcess> processes) {
  Json list = Json::array();
  for (const auto& [process, leases] : processes) {
    Json each = json_of(std::optional(process));
    each["state"] = name_of(state_of(process));
    each["leases"] = leases;
    list.push_back(std::move(each));
  }
  return text_of({{"store", text::escape(store_url)}, {"processes", std::move(list)}});
}

std::string render_json(std::string_view store_url, const mortise::LockKey& key,
                        const std::optional<mortise::Counters>& counters) {
  return text_of({{"store", text::escape(store_url)},
                  {"key", text::escape(key.bytes())},
                  {"key_hex", text::hex(key.bytes())},
                  {"counters", json_of(counters)}});
}

std::string render_json(std::string_view store_url, const mortise::StoreStats& stats) {
  Json waits = stats.waits_by_length.empty() ? Json(nullptr) : Json::array();
  for (const auto& [bound, count] : stats.waits_by_length)
    waits.push_back({{"up_to_ms", bound ? Json(bound->count()) : Json(nullptr)}, {"waits", count}});
  return text_of({{"store", text::escape(store_url)},
                  {"leases", stats.leases},
                  {"sleepers", json_of(stats.sleepers)},
                  {"slots", json_of(stats.slots)},
                  {"known_keys", json_of(stats.known_keys)},
                  {"fullest_stripe_percent", json_of(stats.fullest_stripe)},
                  {"process_slots", json_of(stats.process_slots)},
                  {"processes", json_of(stats.processes)},
                  {"counters", json_of(stats.counters)},
                  {"waits_by_length", std::move(waits)}});
}

std::string render_json(const Event& event, std::string_view time, Holders holders) {
  const Json json = {
      {"time", time}, {"event", name_of(event.kind)}, {"lease", json_of(event.lease, holders)}};
  return json.dump() + '\n';
}

std::string render_json(const std::optional<mortise::LeaseInfo>& lease, Holders holders) {
  return text_of(lease ? json_of(*lease, holders) : Json(nullptr));
}

}  // namespace inspect_locks
