#include "json.hpp"

#include <nlohmann/json.hpp>

#include "findings.hpp"
#include "key_text.hpp"

namespace inspect_locks {
namespace {

// Keeps the order in which the fields are documented.
using Json = nlohmann::ordered_json;

Json json_of(const std::optional<mortise::HolderInfo>& holder) {
  if (!holder) return nullptr;
  return {{"pid", holder->pid},
          {"pid_namespace", holder->pid_namespace},
          {"command", escape(holder->command)},
          {"alive", holder->alive}};
}

template <typename Number>
Json json_of(const std::optional<Number>& number) {
  return number ? Json(*number) : Json(nullptr);
}

Json json_of(const mortise::LeaseInfo& lease) {
  return {{"key", escape(lease.key.bytes())},
          {"key_hex", hex(lease.key.bytes())},
          {"holder", json_of(lease.holder)},
          {"age_ms", lease.age ? Json(lease.age->count()) : Json(nullptr)},
          {"remaining_ms", lease.remaining.count()},
          {"fencing_token", json_of(lease.fencing_token)},
          {"sleepers", json_of(lease.sleepers)}};
}

std::string text_of(const Json& json) {
  return json.dump(2) + '\n';
}

}  // namespace

std::string render_json(std::string_view store_url, std::span<const mortise::LeaseInfo> leases) {
  Json locks = Json::array();
  for (const mortise::LeaseInfo& lease : leases) locks.push_back(json_of(lease));
  return text_of({{"store", escape(store_url)}, {"locks", std::move(locks)}});
}

std::string render_json(std::string_view store_url, const mortise::RepairReport& report) {
  Json findings = Json::array();
  for (const mortise::Finding& finding : report.left)
    findings.push_back({{"severity", name_of(finding.severity)}, {"sentence", finding.sentence}});
  return text_of({{"store", escape(store_url)},
                  {"sound", is_sound(report.left)},
                  {"findings", std::move(findings)},
                  {"repairs", report.repairs}});
}

std::string render_json(const std::optional<mortise::LeaseInfo>& lease) {
  return text_of(lease ? json_of(*lease) : Json(nullptr));
}

}  // namespace inspect_locks
