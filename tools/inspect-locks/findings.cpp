#include "findings.hpp"

#include <algorithm>

namespace inspect_locks {

bool is_sound(std::span<const mortise::Finding> findings) {
  return std::ranges::none_of(findings, [](const mortise::Finding& finding) {
    return finding.severity == mortise::Finding::Severity::damage;
  });
}

const char* name_of(mortise::Finding::Severity severity) {
  return severity == mortise::Finding::Severity::damage ? "damage" : "note";
}

std::string render_lines(const mortise::RepairReport& report) {
  std::string text;
  for (const std::string& repair : report.repairs) text += "repaired: " + repair + '\n';
  for (const mortise::Finding& finding : report.left)
    text += std::string(name_of(finding.severity)) + ": " + finding.sentence + '\n';
  return text + (is_sound(report.left) ? "The store is sound.\n" : "The store is damaged.\n");
}

}  // namespace inspect_locks
