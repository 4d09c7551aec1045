#include "lease_life.hpp"

#include <algorithm>

namespace mortise::storm {

namespace {

class Follower {
 public:
  Follower(const Operation& grant, std::span<const ProcessLife> processes, Time late_expiry,
           const FalseAnswers& report)
      : processes_(processes),
        late_expiry_(late_expiry),
        report_(report),
        life_{&grant, grant.invoked + grant.ttl, grant.returned + grant.ttl + late_expiry} {}

  void follow(const Operation& call) {
    if (call.result == Result::no) return deny(call);
    if (call.result == Result::yes) confirm(call);
    switch (call.kind) {
      case Kind::extend:
        return extend(call);
      case Kind::release:
      case Kind::drop:
        return release(call);
      case Kind::detach:
      case Kind::serialize:
        return detach(call);
      default:
        return;
    }
  }

  LeaseLife end() {
    const ProcessLife& acquirer = processes_[life_.grant->process];
    if (binding_ != Binding::none) life_.certain_until = std::min(life_.certain_until, acquirer.condemned);
    if (binding_ == Binding::acquirer) life_.over_by = std::min(life_.over_by, acquirer.dead);
    return life_;
  }

 private:
  void deny(const Operation& call) {
    if (call.returned < life_.certain_until) report_.lost(life_, call);
    life_.certain_until = std::min(life_.certain_until, call.returned);
    life_.over_by = std::min(life_.over_by, call.returned);
  }

  // Nobody can hold the key in between: what was in force at the invocation was so since the grant.
  void confirm(const Operation& call) {
    if (call.invoked > life_.over_by) report_.ghost(life_, call);
    life_.certain_until = std::max(life_.certain_until, call.invoked);
  }

  void extend(const Operation& call) {
    if (call.is_open()) {
      life_.certain_until = std::min(life_.certain_until, call.invoked + call.ttl);
      life_.over_by = std::max(life_.over_by, latest_expiry(processes_[call.process].dead, call));
    } else {
      life_.certain_until = call.invoked + call.ttl;
      life_.over_by = latest_expiry(call.returned, call);
    }
  }

  void release(const Operation& call) {
    life_.certain_until = std::min(life_.certain_until, call.invoked);
    if (!call.is_open()) life_.over_by = std::min(life_.over_by, call.returned);
  }

  void detach(const Operation& call) {
    if (!call.is_open()) binding_ = Binding::none;
    if (call.is_open() && binding_ == Binding::acquirer) binding_ = Binding::unknown;
  }

  [[nodiscard]] Time latest_expiry(Time from, const Operation& call) const {
    return from == kNever ? kNever : from + call.ttl + late_expiry_;
  }

  std::span<const ProcessLife> processes_;
  Time late_expiry_;
  const FalseAnswers& report_;
  LeaseLife life_;
  enum class Binding { acquirer, unknown, none } binding_ = Binding::acquirer;
};

}  // namespace

LeaseLife follow_lease(std::span<const Operation* const> operations, std::span<const ProcessLife> processes,
                       Time late_expiry, const FalseAnswers& report) {
  Follower follower(*operations.front(), processes, late_expiry, report);
  for (const Operation* call : operations.subspan(1)) follower.follow(*call);
  return follower.end();
}

}  // namespace mortise::storm
