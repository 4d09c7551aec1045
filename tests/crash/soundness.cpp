#include "crash/soundness.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <string>

#include "table/key_hash.hpp"
#include "table/stripe.hpp"

namespace mortise::crash {

namespace {

using table::Lease;
using table::Place;

bool names_its_key(const SlotImage& slot, std::uint64_t hash_seed) {
  if (slot.key.empty() || slot.key.size() > LockKey::kMaxBytes) return false;
  return Place::of(table::hash_of(LockKey(slot.key), hash_seed), slot.key.size()).identity == slot.identity;
}

Findings unsound(const SlotImage& slot, bool mutex_is_free, std::uint64_t hash_seed,
                 const std::string& where) {
  Findings findings;
  if (slot.is_known()) {
    findings.expect(names_its_key(slot, hash_seed), where + " has a key that is not the one of its identity");
    findings.expect(slot.tag == Place::tag_of(slot.identity), where + " has a key and not its tag");
    return findings;
  }
  findings.expect(!slot.lease.is_held(), where + " has a lease and no key");
  if (mutex_is_free) {
    findings.expect(!slot.lease.is_reserved(), where + " is reserved, and nobody has the mutex");
    findings.expect(slot.tag == 0, where + " has a tag and no key");
  }
  return findings;
}

// One slot before and after.
class Change {
 public:
  Change(const SlotImage& before, const SlotImage& after, const TableImage& table, const Law& law)
      : before_(before), after_(after), table_(table), law_(law) {}

  [[nodiscard]] Findings findings(const std::string& where) const {
    Findings findings;
    findings.expect(after_.fence >= before_.fence, where + ": the fence fell");
    findings.expect(lease_is_lawful(), where + ": the lease is neither the old nor the new one");
    const bool same_key = after_.identity == before_.identity && after_.key == before_.key;
    findings.expect(same_key || is_an_actors_doing() || before_.lease.is_reserved(),
                    where + ": the key changed, and the lease shows nobody who did it");
    return findings;
  }

 private:
  [[nodiscard]] bool lease_is_lawful() const {
    const Lease before = before_.lease.with_sleepers(false);
    const Lease after = after_.lease.with_sleepers(false);
    if (after == before) return true;
    if (after.is_held()) return is_a_lease_of_an_actor();
    if (is_an_actors_doing()) return true;
    const bool ended = before.is_held() && after == before.released() && has_no_holder(before);
    const bool wiped = before.is_reserved() && after.term == before.term;
    return !after.is_reserved() && (ended || wiped);
  }
  [[nodiscard]] bool is_a_lease_of_an_actor() const {
    const Actor* actor = actor_of(after_.lease.token());
    if (actor == nullptr) return false;
    constexpr auto kRounding = std::chrono::milliseconds(1);
    const auto expiry = after_.lease.expiry();
    const bool extended = before_.lease.is_held() && before_.lease.token() == after_.lease.token();
    const bool fresh = expiry >= law_.since + actor->ttl.milliseconds() &&
                       expiry <= sys::Clock::now() + actor->ttl.milliseconds() + kRounding;
    const std::uint64_t binding = after_.lease.binding();
    const bool bound_well = binding == Lease::kUnbound ? extended : is_slot_of(binding, actor->pid);
    return bound_well && (fresh || (extended && expiry == before_.lease.expiry()));
  }
  [[nodiscard]] bool is_slot_of(std::uint64_t binding, pid_t pid) const {
    return binding <= table_.processes.size() && table_.processes[binding - 1] == pid;
  }
  // Does the lease word show a doing of an actor: as the holder's token, or the stamp of a word that is not
  // held?
  [[nodiscard]] bool is_an_actors_doing() const {
    const table::Lease lease = after_.lease;
    if (lease.is_held()) return actor_of(lease.token()) != nullptr;
    return std::any_of(law_.actors.begin(), law_.actors.end(), [&](const Actor& actor) {
      return table::Lease::free(actor.token.as_number(), lease.term, false).term == lease.term;
    });
  }
  [[nodiscard]] const Actor* actor_of(std::uint64_t token) const {
    const auto found = std::find_if(law_.actors.begin(), law_.actors.end(),
                                    [&](const Actor& actor) { return actor.token.as_number() == token; });
    return found == law_.actors.end() ? nullptr : &*found;
  }
  [[nodiscard]] bool has_no_holder(Lease lease) const {
    return lease.binding() != Lease::kUnbound &&
           std::none_of(law_.live.begin(), law_.live.end(),
                        [&](OwnerToken live) { return lease.is_held_by(live); });
  }

  const SlotImage& before_;
  const SlotImage& after_;
  const TableImage& table_;
  const Law& law_;
};

}  // namespace

Findings unsound(const TableImage& table) {
  Findings findings;
  std::set<std::string> keys;
  for (std::size_t i = 0; i < table.stripes.size(); ++i) {
    const StripeImage& stripe = table.stripes[i];
    for (std::size_t j = 0; j < stripe.slots.size(); ++j) {
      const SlotImage& slot = stripe.slots[j];
      const std::string where = "slot " + std::to_string(j) + " of stripe " + std::to_string(i);
      findings.add(unsound(slot, stripe.mutex_is_free(), table.hash_seed, where));
      if (slot.is_known()) {
        findings.expect(keys.insert(slot.key).second, where + " has a key that is known elsewhere too");
        findings.expect(slot.fence > table.fence_base, where + " has a fence of an earlier segment");
      }
    }
  }
  return findings;
}

Findings unlawful_changes(const TableImage& before, const TableImage& after, const Law& law) {
  Findings findings;
  for (std::size_t i = 0; i < before.stripes.size(); ++i) {
    const std::string stripe = "stripe " + std::to_string(i);
    findings.expect(after.stripes[i].floor >= before.stripes[i].floor, stripe + ": the floor fell");
    for (std::size_t j = 0; j < before.stripes[i].slots.size(); ++j) {
      const Change change(before.stripes[i].slots[j], after.stripes[i].slots[j], after, law);
      findings.add(change.findings("slot " + std::to_string(j) + " of " + stripe));
    }
  }
  return findings;
}

}  // namespace mortise::crash
