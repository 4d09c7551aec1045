// What does it cost when the key is one of many, in random order?
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mortise/mortise.hpp>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "peers/peer.hpp"
#include "peers/robust_mutex.hpp"
#include "support/exclusion.hpp"
#include "support/keys.hpp"
#include "support/options.hpp"
#include "support/report.hpp"
#include "support/turns.hpp"

namespace mortise::bench {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kUsualBytes = 24;
constexpr auto kTouch = "record touch";
constexpr auto kOverlappingTouches = "record touch, overlapping";
constexpr auto kOneKey = "mortise, one key";
constexpr auto kNewLock = "mortise, Lock made anew";
constexpr auto kKeptLock = "mortise, Lock kept";
constexpr auto kMutexes = "robust mutexes in an array";

// Room for all keys at once: of the slots asked for a quarter as many again are for keys of this length.
std::uint32_t slots_for(std::size_t keys, std::size_t bytes) {
  constexpr std::size_t kLongestOfUsualSlots = 88;
  constexpr std::size_t kDefault = 16384;
  return static_cast<std::uint32_t>(std::max(kDefault, keys * (bytes > kLongestOfUsualSlots ? 8 : 2)));
}

// Shared memory that is never unmapped: the C library keeps the addresses of robust mutexes.
template <class T>
std::span<T> map_array(std::size_t count) {
  void* memory = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return {new (memory) T[count], count};
}

void lock_once(std::string_view key, const std::shared_ptr<LockStore>& store) {
  Lock lease(key, 30s, store);
  must(lease.acquire(), "acquire");
  must(lease.release(), "release");
}

// With keys beyond the first one: each has been used before.
Contestant new_locks(const char* name, const Segment& segment, std::size_t keys, std::size_t bytes) {
  KeyMaker make_key(bytes);
  for (std::size_t i = 0; i < keys; ++i) lock_once(make_key(i), segment.store());
  return {name, [make_key, random = RandomNumbers(keys), store = segment.store()](std::size_t times) mutable {
            for (; times > 0; --times) lock_once(make_key(random()), store);
          }};
}

Contestant kept_locks(const Segment& segment, std::size_t keys, std::size_t bytes) {
  auto locks = std::make_shared<std::vector<Lock>>();
  KeyMaker make_key(bytes);
  for (std::size_t i = 0; i < keys; ++i) locks->emplace_back(make_key(i), 30s, segment.store());
  return {kKeptLock, [locks, random = RandomNumbers(keys)](std::size_t times) mutable {
            for (; times > 0; --times) {
              Lock& lease = (*locks)[random()];
              must(lease.acquire(), "acquire");
              must(lease.release(), "release");
            }
          }};
}

// One record of a table of the same size is read, changed and written, by one instruction. Where the touches
// are chained, the next record depends on what was read: else the processor begins several touches at once,
// as nobody can who locks.
template <bool kChained>
Contestant record_touch(const char* name, std::size_t keys, std::size_t slots) {
  constexpr std::size_t kSlotBytes = 128;
  struct alignas(kSlotBytes) Record {
    std::atomic<std::uint64_t> value;
  };
  return {name, [records = map_array<Record>(slots), stride = slots / keys,
                 random = RandomNumbers(keys)](std::size_t times) mutable {
            constexpr unsigned kTopBit = 63;  // never set, but only we know
            std::uint64_t seen = 0;
            for (; times > 0; --times) {
              const std::uint64_t number = random() + (kChained ? seen >> kTopBit : 0);
              seen = records[number * stride].value.fetch_add(1);
            }
          }};
}

Contestant robust_mutexes(std::size_t keys) {
  struct alignas(64) Line {
    pthread_mutex_t mutex;
  };
  const auto lines = map_array<Line>(keys);
  for (Line& line : lines) make_robust(line.mutex);
  return {kMutexes, [lines, random = RandomNumbers(keys)](std::size_t times) mutable {
            for (; times > 0; --times) {
              pthread_mutex_t& mutex = lines[random()].mutex;
              pthread_mutex_lock(&mutex);
              pthread_mutex_unlock(&mutex);
            }
          }};
}

Contestant peer_with_keys(const Peer& peer, std::size_t keys, std::size_t bytes) {
  std::shared_ptr<KeyedExclusion> keyed = peer.make_keyed(keys);
  return {peer.name,
          [keyed, make_key = KeyMaker(bytes), random = RandomNumbers(keys)](std::size_t times) mutable {
            for (; times > 0; --times) {
              const std::string_view key = make_key(random());
              keyed->acquire(key);
              keyed->release(key);
            }
          }};
}

void compare(std::size_t keys, std::size_t bytes, const Options& options, Report& report) {
  const std::uint32_t slots = slots_for(keys, bytes);
  const Segment segment("?slots=" + std::to_string(slots));
  const Segment small;
  std::vector<Contestant> contestants{
      new_locks(kOneKey, small, 1, bytes), new_locks(kNewLock, segment, keys, bytes),
      record_touch<true>(kTouch, keys, slots), record_touch<false>(kOverlappingTouches, keys, slots)};
  if (bytes == kUsualBytes) {
    contestants.push_back(kept_locks(segment, keys, bytes));
    contestants.push_back(robust_mutexes(keys));
    for (const Peer& peer : peers()) {
      if (peer.make_keyed != nullptr) contestants.push_back(peer_with_keys(peer, keys, bytes));
    }
  }
  // To most of its keys everybody comes once before it counts: the machine may be slow to find memory that
  // was not used for a while.
  for (const Contestant& one : contestants) one.work(2 * keys);
  const Turns turns(contestants, options, kLongTurns);
  const std::string which = std::to_string(keys) + " keys of " + std::to_string(bytes) + " bytes, ";
  for (const Contestant& one : contestants)
    report.add({which + one.name, "ns", turns.cost(one.name).medians()});
  const bool many = keys >= 100'000;
  const Series more = turns.cost(kNewLock) - turns.cost(kOneKey);
  report.add({which + "(Lock made anew - one key) / record touch", "x", (more / turns.cost(kTouch)).medians(),
              many ? std::optional(at_most(2, 1.3)) : std::nullopt});
  report.add({which + "(Lock made anew - one key) / record touch, overlapping", "x",
              (more / turns.cost(kOverlappingTouches)).medians()});
}

using Numbers = std::vector<std::size_t>;

void measure(const Options& options, Report& report) {
  for (const std::size_t keys : options.choose<Numbers>({1'000, 100'000}, {1'000, 100'000}, {100})) {
    for (const std::size_t bytes :
         options.choose<Numbers>({8, kUsualBytes, 64, 200}, {kUsualBytes}, {kUsualBytes, 200}))
      compare(keys, bytes, options, report);
  }
  // A million long ones would take gigabytes.
  for (const std::size_t bytes : options.choose<Numbers>({8, kUsualBytes, 64}, {kUsualBytes}, {}))
    compare(1'000'000, bytes, options, report);
  for (const std::string& name : missing_peers()) report.miss(name);
}

}  // namespace

}  // namespace mortise::bench

int main(int argc, char** argv) {
  return mortise::bench::run("many_keys", argc, argv, mortise::bench::measure);
}
