#include "history_checker.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "describe.hpp"
#include "free_times.hpp"
#include "lease_life.hpp"

namespace mortise::storm {

namespace {

using Calls = std::vector<const Operation*>;
using Lives = std::vector<LeaseLife>;  // in the order in which the grants returned

std::vector<ProcessLife> processes_of(const History& history) {
  std::vector<ProcessLife> processes = history.processes;
  for (const Operation& call : history.operations) {
    ProcessLife& process = processes[call.process];
    if (call.kind == Kind::exit) process.condemned = std::min(process.condemned, call.invoked);
    // A child that was just forked keeps the leases of its parent alive until it gets to run.
    if (call.kind == Kind::fork && call.is_open()) process.dead = kNever;
  }
  return processes;
}

std::size_t count_returned_before(const Lives& lives, Time time) {
  const auto end = std::partition_point(
      lives.begin(), lives.end(), [time](const LeaseLife& life) { return life.grant->returned < time; });
  return static_cast<std::size_t>(end - lives.begin());
}

// For each beginning of a list of leases, the one with the highest value.
class BestOfFirst {
 public:
  template <class Value>
  BestOfFirst(const Lives& lives, Value value) : best_{nullptr} {
    for (const LeaseLife& life : lives) {
      const LeaseLife* best = best_.back();
      best_.push_back(best == nullptr || value(life) > value(*best) ? &life : best);
    }
  }
  // nullptr of none.
  const LeaseLife* operator()(std::size_t count) const { return best_[count]; }

 private:
  std::vector<const LeaseLife*> best_;
};

class Checker {
 public:
  Checker(const History& history, const Bounds& bounds)
      : history_(history), bounds_(bounds), processes_(processes_of(history)) {}

  std::vector<Violation> check() {
    std::map<KeyIndex, Calls> by_key;
    for (const Operation& call : history_.operations) {
      if (is_on_a_lease(call.kind)) by_key[call.key].push_back(&call);
    }
    for (auto& [key, calls] : by_key) {
      const Lives lives = follow_leases(calls);
      // Leases that overlap have no order.
      if (exclude_each_other(lives)) check_fence_order(lives);
      if (key < history_.complete_keys) check_free_times(calls, lives);
    }
    return std::move(violations_);
  }

 private:
  bool found(Rule rule, std::string text) {
    violations_.push_back({rule, std::move(text)});
    return false;
  }

  Lives follow_leases(Calls& calls) {
    std::sort(calls.begin(), calls.end(), [](const Operation* a, const Operation* b) {
      return std::tie(a->lease, a->invoked) < std::tie(b->lease, b->invoked);
    });
    Lives lives;
    for (auto first = calls.begin(); first != calls.end();) {
      const auto last = std::find_if(first, calls.end(),
                                     [&](const Operation* call) { return call->lease != (*first)->lease; });
      follow_one({first, last}, lives);
      first = last;
    }
    std::sort(lives.begin(), lives.end(),
              [](const LeaseLife& a, const LeaseLife& b) { return a.grant->returned < b.grant->returned; });
    return lives;
  }

  void follow_one(std::span<const Operation* const> calls, Lives& lives) {
    if (calls.front()->is_grant()) {
      const FalseAnswers report{
          [this](const LeaseLife& life, const Operation& call) {
            found(Rule::lost_lease, describe(call) + ", while it was in force: " + describe(life));
          },
          [this](const LeaseLife& life, const Operation& call) {
            found(Rule::foreign_lease, describe(call) + ", when it was over: " + describe(life));
          }};
      lives.push_back(follow_lease(calls, processes_, {bounds_.late_expiry, bounds_.slack}, report));
      return;
    }
    for (const Operation* call : calls) {
      if (call->result == Result::yes)
        found(Rule::foreign_lease, describe(*call) + ", a lease that was never granted");
    }
  }

  bool exclude_each_other(const Lives& lives) {
    const BestOfFirst longest(lives, [](const LeaseLife& life) { return life.certain_until; });
    for (std::size_t i = 1; i < lives.size(); ++i) {
      // A lease that was over when its process learnt of it was still granted outside of all others.
      const Time granted_after = lives[i].was_certain() ? lives[i].grant->returned : lives[i].grant->invoked;
      const LeaseLife* other = longest(std::min(i, count_returned_before(lives, granted_after)));
      if (other != nullptr && lives[i].grant->returned < other->certain_until)
        return found(Rule::two_holders, describe(lives[i]) + ", and at once " + describe(*other));
    }
    return true;
  }

  // Of two grants, one came first if it returned before the other was asked for. Or if it returned before the
  // other's lease could end: it was not granted after that lease, and not inside it.
  void check_fence_order(const Lives& lives) {
    const BestOfFirst highest(lives, [](const LeaseLife& life) { return life.grant->fence; });
    for (std::size_t i = 0; i < lives.size(); ++i) {
      const Time limit = lives[i].was_certain() ? lives[i].certain_until : lives[i].grant->invoked;
      const std::size_t earlier = count_returned_before(lives, limit);
      if (!rises(highest(std::min(i, earlier)), lives[i])) return;
      for (std::size_t j = i + 1; j < earlier; ++j) {
        if (!rises(&lives[j], lives[i])) return;
      }
    }
  }

  bool rises(const LeaseLife* earlier, const LeaseLife& later) {
    if (earlier == nullptr || earlier->grant->fence < later.grant->fence) return true;
    return found(Rule::fence_order, describe(later) + ", granted after " + describe(*earlier));
  }

  void check_free_times(const Calls& calls, const Lives& lives) {
    const FreeTimes free(perhaps_held(calls, lives));
    for (const Operation* call : calls) {
      if (call->kind != Kind::acquire) continue;
      if (!(call->timeout.count() == 0 ? is_justly_refused(*call, free) : waited_justly(*call, free))) return;
    }
  }

  std::vector<Interval> perhaps_held(const Calls& calls, const Lives& lives) const {
    std::vector<Interval> held;
    for (const LeaseLife& life : lives) held.push_back({earliest_grant(*life.grant), life.over_by});
    for (const Operation* call : calls) {
      if (call->kind == Kind::acquire && call->is_open())
        held.push_back({earliest_grant(*call), processes_[call->process].dead});
    }
    return held;
  }

  // Who is granted a key returns soon, unless he was stopped.
  [[nodiscard]] Time earliest_grant(const Operation& call) const {
    const ProcessLife& process = processes_[call.process];
    const Time end = std::min(call.returned, process.condemned);
    if (process.may_have_been_stopped({call.invoked, end})) return call.invoked;
    return std::max(call.invoked, end - bounds_.slack);
  }

  bool is_justly_refused(const Operation& call, const FreeTimes& free) {
    if (call.result != Result::no) return true;
    const Interval whole{call.invoked, call.returned};
    const Interval longest = free.longest_within(whole);
    if (longest.until - longest.from < whole.until - whole.from) return true;
    return found(Rule::free_refused, describe(call) + ", though nobody can have held it");
  }

  bool waited_justly(const Operation& call, const FreeTimes& free) {
    if (call.result == Result::stalled) return true;
    const ProcessLife& process = processes_[call.process];
    const Interval hole = free.longest_within({call.invoked, std::min(call.returned, process.condemned)});
    const Time bound = call.retry_delay + bounds_.slack;
    if (hole.until - hole.from <= bound || process.may_have_been_stopped(hole)) return true;
    return found(Rule::hole,
                 describe(call) + ", though nobody can have held it for " +
                     std::to_string(std::chrono::duration_cast<Millis>(hole.until - hole.from).count()) +
                     " ms");
  }

  const History& history_;
  Bounds bounds_;
  std::vector<ProcessLife> processes_;
  std::vector<Violation> violations_;
};

}  // namespace

const char* name_of(Rule rule) {
  switch (rule) {
    case Rule::two_holders:
      return "two holders";
    case Rule::fence_order:
      return "fence order";
    case Rule::foreign_lease:
      return "foreign lease";
    case Rule::lost_lease:
      return "lost lease";
    case Rule::free_refused:
      return "free key refused";
    case Rule::hole:
      return "hole";
  }
  return "?";
}

std::vector<Violation> check(const History& history, const Bounds& bounds) {
  return Checker(history, bounds).check();
}

}  // namespace mortise::storm
