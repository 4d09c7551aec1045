#include "table/check.hpp"

#include <chrono>
#include <ctime>
#include <map>
#include <optional>
#include <string_view>

#include "mortise/types.hpp"
#include "sys/process.hpp"
#include "table/key_hash.hpp"
#include "table/stripe_reader.hpp"

namespace mortise::table {

namespace {

using Condition = sys::RobustMutex::Condition;

// Printable on one line, and no longer than a line.
std::string quoted(std::string_view key) {
  constexpr std::size_t kShown = 64;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = "\"";
  for (const char byte : key.substr(0, kShown)) {
    const auto value = static_cast<unsigned char>(byte);
    if (value >= ' ' && value <= '~' && byte != '"' && byte != '\\') {
      text += byte;
    } else {
      text.append("\\x").append({kDigits[value >> 4U], kDigits[value & 0xfU]});
    }
  }
  return text + (key.size() > kShown ? "\"..." : "\"");
}

// A slot that did not change while it was read.
struct Reading {
  Lease lease;
  sys::TimePoint now;  // after the lease was seen
  bool mutex_is_free;  // of the stripe, at some moment meanwhile
  std::uint64_t fence;
  std::uint64_t identity;
  std::uint8_t tag;
  std::string key;
  bool is_padded;  // with zeros, as look-ups expect it
};

std::uint8_t tag_of(const Stripe& stripe, unsigned index) {
  return static_cast<std::uint8_t>(
      stripe.tags[index / Stripe::kTagsPerWord].load(std::memory_order_acquire) >> Stripe::shift(index));
}

bool is_padded(const Slot& slot, const std::string& key) {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  const std::size_t in_last_word = key.size() % kWord;
  if (in_last_word == 0) return true;
  const std::uint64_t last = slot.key()[key.size() / kWord].load(std::memory_order_acquire);
  std::array<char, kWord> bytes{};
  std::memcpy(bytes.data(), &last, kWord);
  return std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(in_last_word), bytes.end(),
                     [](char byte) { return byte == 0; });
}

// nullopt: it changes all the time, so somebody is using it. No value of a lease word comes back, so two
// equal ones prove that what was read in between belongs together.
std::optional<Reading> read(const segment::Segment& segment, const StripeReader& stripe, unsigned index) {
  constexpr int kTries = 100;
  const Slot& slot = stripe.slot(index);
  for (int i = 0; i < kTries; ++i) {
    const auto lease = slot.lease.load_consistent();
    if (!lease) continue;
    Reading reading{};
    reading.lease = *lease;
    reading.now = sys::Clock::now();
    // Before the tag: while the mutex is free, tags are right, and one that changes is of a reserved slot.
    reading.mutex_is_free = shape_condition(segment, stripe.header()).state == Condition::State::free;
    reading.tag = tag_of(stripe.header(), index);
    reading.identity = slot.identity.load(std::memory_order_acquire);
    reading.fence = slot.fence(*lease);
    reading.key = stored_key(slot, reading.identity, stripe.slots().key_capacity());
    reading.is_padded = is_padded(slot, reading.key);
    if (slot.lease.load_consistent() == lease) return reading;
  }
  return std::nullopt;
}

class StripeCheck {
 public:
  StripeCheck(const segment::Segment& segment, const Geometry& geometry, const StripeReader& stripe,
              std::size_t number, std::vector<Flaw>& flaws)
      : segment_(segment),
        geometry_(geometry),
        stripe_(stripe),
        where_("stripe " + std::to_string(number)),
        flaws_(flaws) {}

  void run() {
    check_shape();
    for (unsigned i = 0; i < kSlotsPerStripe; ++i) {
      if (const auto reading = read(segment_, stripe_, i)) check_slot(i, *reading);
    }
  }

 private:
  void report(Fault fault, const std::string& detail = {}, unsigned slot = 0) {
    flaws_.push_back({fault, stripe_.offset(), stripe_.slots().slot_bytes, slot, where_ + detail});
  }
  void report(Fault fault, unsigned slot, const Reading& reading) {
    std::string detail = ", slot " + std::to_string(slot);
    if (!reading.key.empty()) detail += " (key " + quoted(reading.key) + ")";
    report(fault, detail, slot);
  }

  void check_shape() {
    const Condition condition = shape_condition(segment_, stripe_.header());
    if (condition.state == Condition::State::damaged) report(Fault::mutex);
    if (condition.state == Condition::State::owner_died) report(Fault::dead_shaper);
    if (condition.state == Condition::State::held && sys::is_stopped(condition.owner))
      report(Fault::stalled_shaper, " (thread " + std::to_string(condition.owner) + ")");
    const std::uint64_t floor = stripe_.header().floor.load(std::memory_order_acquire);
    // A table begins with the base, which is no fence yet.
    if (floor != segment_.header().fence_base && !is_plausible_fence(floor, segment_.header()))
      report(Fault::floor);
  }

  void check_slot(unsigned index, const Reading& reading) {
    // Under the mutex, a reserved slot may show anything.
    if (reading.lease.is_reserved() && !reading.mutex_is_free) return;
    if (!fence_is_right(reading)) report(Fault::fence, index, reading);
    if (reading.lease.is_reserved()) return report(Fault::reservation, index, reading);
    if (const auto fault = key_fault(reading)) return report(*fault, index, reading);
    if (!tag_is_right(reading)) report(Fault::tag, index, reading);
    if (reading.lease.is_held()) {
      if (const auto fault = lease_fault(reading)) report(*fault, index, reading);
    }
    if (!reading.key.empty()) compare_with_others(index, reading);
  }

  [[nodiscard]] bool fence_is_right(const Reading& reading) const {
    const bool is_used = reading.identity != 0 || reading.lease.is_held();
    return (reading.fence == 0 && !is_used) || is_plausible_fence(reading.fence, segment_.header());
  }

  [[nodiscard]] std::optional<Fault> key_fault(const Reading& reading) const {
    if (reading.identity == 0)
      return reading.lease.is_held() ? std::optional(Fault::lease_without_key) : std::nullopt;
    if (reading.key.empty() || &geometry_.class_for(reading.key.size()) != &stripe_.slots())
      return Fault::key_length;
    const LockKey key(reading.key);
    const std::uint64_t hash = hash_of(key, segment_.header().hash_seed);
    if (Place::of(hash, key.size()).identity != reading.identity || !reading.is_padded)
      return Fault::key_hash;
    if (stripe_.slots().stripe_of(hash) != stripe_.index()) return Fault::key_stripe;
    return std::nullopt;
  }

  // Of a slot without a key the tag is made right under the mutex, a moment after the key was wiped.
  [[nodiscard]] static bool tag_is_right(const Reading& reading) {
    if (reading.tag == Place::tag_of(reading.identity)) return true;
    return reading.identity == 0 && !reading.mutex_is_free;
  }

  [[nodiscard]] std::optional<Fault> lease_fault(const Reading& reading) const {
    constexpr auto kRounding = std::chrono::seconds(1);
    if (reading.lease.expiry() > reading.now + Ttl::kMax + kRounding) return Fault::expiry;
    const std::uint64_t binding = reading.lease.binding();
    if (binding == Lease::kUnbound) return std::nullopt;
    if (binding > segment_.processes().count()) return Fault::binding;
    const auto process = static_cast<segment::ProcessSlot>(binding - 1);
    return segment_.processes().was_used(process) ? std::nullopt : std::optional(Fault::unused_process);
  }

  void compare_with_others(unsigned index, const Reading& reading) {
    const auto [first, is_new] = seen_.try_emplace(reading.key, index, reading);
    if (is_new) return;
    const auto& [other_index, other] = first->second;
    // The other must not have moved out before this one moved in.
    if (stripe_.slot(other_index).lease.load_consistent() != other.lease) return;
    const bool other_stays = other.fence >= reading.fence;
    report(Fault::key_twice, other_stays ? index : other_index, other_stays ? reading : other);
    if (!other_stays) first->second = {index, reading};
  }

  const segment::Segment& segment_;
  const Geometry& geometry_;
  const StripeReader& stripe_;
  std::string where_;
  std::vector<Flaw>& flaws_;
  std::map<std::string, std::pair<unsigned, Reading>> seen_;
};

const char* text_of(Fault fault) {
  switch (fault) {
    case Fault::mutex:
      return "its mutex is damaged, so that no key can be added";
    case Fault::floor:
      return "its fence floor is a number that was never granted";
    case Fault::dead_shaper:
      return "a process died while it added a key; the next who adds one here repairs it";
    case Fault::stalled_shaper:
      return "a process is stopped while it adds a key, and others cannot add theirs; continue or kill it";
    case Fault::reservation:
      return "it is reserved for a new key, and nobody is adding one";
    case Fault::lease_without_key:
      return "it has a lease and no key";
    case Fault::key_length:
      return "it has a key of a length that does not live in slots of this size";
    case Fault::key_hash:
      return "it has a key that is not the one of its hash";
    case Fault::key_stripe:
      return "it has a key that belongs in another stripe";
    case Fault::key_twice:
      return "it has a key that another slot has, too";
    case Fault::tag:
      return "its tag is not the one of its key, so that the key may not be found";
    case Fault::fence:
      return "its fencing number was never granted";
    case Fault::expiry:
      return "it has a lease that ends later than any lease may";
    case Fault::binding:
      return "it has a lease of a process slot that does not exist";
    case Fault::unused_process:
      return "it has a lease of a process slot that no process ever had";
  }
  return "unknown fault";
}

}  // namespace

bool is_damage(Fault fault) {
  return fault != Fault::dead_shaper && fault != Fault::stalled_shaper;
}

std::string describe(const Flaw& flaw) {
  return flaw.where + ": " + text_of(flaw.fault);
}

// The numbers begin with nanoseconds, and nobody grants one each nanosecond for as long as this.
bool is_plausible_fence(std::uint64_t fence, const segment::Header& header) {
  constexpr std::uint64_t kMostGrants = std::uint64_t{1} << 59U;
  return fence > header.fence_base && fence - header.fence_base <= kMostGrants;
}

std::vector<Flaw> check(const segment::Segment& segment) {
  std::vector<Flaw> flaws;
  const Geometry geometry(segment.header().slots);
  std::size_t number = 0;
  for_each_stripe(segment.body(), geometry, [&](const StripeReader& stripe) {
    StripeCheck(segment, geometry, stripe, number++, flaws).run();
  });
  return flaws;
}

std::vector<segment::ProcessSlot> unrecorded_processes(const segment::Segment& segment) {
  constexpr int kLooks = 20;
  constexpr timespec kPause{0, 1'000'000};
  const segment::ProcessSlots& processes = segment.processes();
  const auto is_unrecorded = [&](segment::ProcessSlot slot) {
    return processes.is_taken(slot) && !processes.is_alive(slot);
  };
  std::vector<segment::ProcessSlot> slots;
  for (std::uint32_t i = 0; i < processes.count(); ++i) {
    if (const auto slot = static_cast<segment::ProcessSlot>(i); is_unrecorded(slot)) slots.push_back(slot);
  }
  for (int look = 1; look < kLooks && !slots.empty(); ++look) {
    nanosleep(&kPause, nullptr);
    std::erase_if(slots, [&](segment::ProcessSlot slot) { return !is_unrecorded(slot); });
  }
  return slots;
}

}  // namespace mortise::table
