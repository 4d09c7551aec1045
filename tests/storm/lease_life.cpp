#include "lease_life.hpp"

#include <algorithm>

namespace mortise::storm {

namespace {

class Follower {
 public:
  Follower(const Operation& grant, std::span<const ProcessLife> processes, Lateness late,
           const FalseAnswers& report)
      : processes_(processes),
        late_(late),
        report_(report),
        life_{&grant, grant.invoked + grant.ttl, latest_expiry(grant.returned, grant)},
        is_renewed_(grant.keep_alive),
        ttl_(grant.ttl) {
    if (is_renewed_) life_.over_by = kNever;
  }

  void follow(const Operation& call) {
    if (call.result == Result::no) return deny(call);
    sustain(call.invoked);
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
    sustain(acquirer.condemned);
    if (binding_ != Binding::none) life_.certain_until = std::min(life_.certain_until, acquirer.condemned);
    if (binding_ == Binding::acquirer) life_.over_by = std::min(life_.over_by, acquirer.dead);
    return life_;
  }

 private:
  // A lease that is kept alive was in force until `until`, unless its process was stopped, or its time to
  // live is so short that a renewal may have come too late.
  void sustain(Time until) {
    const ProcessLife& acquirer = processes_[life_.grant->process];
    if (!is_renewed_ || acquirer.may_have_been_stopped({life_.grant->invoked, until})) return;
    if (Time(ttl_) * 2 / 3 > late_.renewal) life_.certain_until = std::max(life_.certain_until, until);
  }

  void deny(const Operation& call) {
    sustain(call.returned + Time(1));
    is_renewed_ = false;
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
      if (!is_renewed_) life_.over_by = latest_expiry(call.returned, call);
    }
    ttl_ = call.is_open() ? std::min(ttl_, call.ttl) : call.ttl;
  }

  void release(const Operation& call) {
    is_renewed_ = false;
    life_.certain_until = std::min(life_.certain_until, call.invoked);
    if (!call.is_open()) life_.over_by = std::min(life_.over_by, call.returned);
  }

  // Its last renewal may be under way, and come to its end at any time: so nothing is known of when it is
  // over.
  void detach(const Operation& call) {
    is_renewed_ = false;
    if (!call.is_open()) binding_ = Binding::none;
    if (call.is_open() && binding_ == Binding::acquirer) binding_ = Binding::unknown;
  }

  [[nodiscard]] Time latest_expiry(Time from, const Operation& call) const {
    return from == kNever ? kNever : from + call.ttl + late_.expiry;
  }

  std::span<const ProcessLife> processes_;
  Lateness late_;
  const FalseAnswers& report_;
  LeaseLife life_;
  enum class Binding { acquirer, unknown, none } binding_ = Binding::acquirer;
  bool is_renewed_;  // in the background, as far as is known
  Millis ttl_;       // that it is renewed by
};

}  // namespace

LeaseLife follow_lease(std::span<const Operation* const> operations, std::span<const ProcessLife> processes,
                       Lateness late, const FalseAnswers& report) {
  Follower follower(*operations.front(), processes, late, report);
  for (const Operation* call : operations.subspan(1)) follower.follow(*call);
  return follower.end();
}

}  // namespace mortise::storm
