#include "crash/world.hpp"

#include <unistd.h>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <thread>
#include <tuple>

#include "crash/tracee.hpp"
#include "segment/layout.hpp"
#include "sys/file.hpp"
#include "sys/robust_mutex.hpp"
#include "table/geometry.hpp"
#include "table/lock_table.hpp"
#include "table/stripe.hpp"

namespace mortise::crash {

using namespace std::chrono_literals;
using test::Channel;
using test::ChildProcess;

namespace {

constexpr Ttl kLong = 1h;

void require(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(std::string("the world cannot be made: ") + what);
}

void touch(LockStore& store, const LockKey& key) {
  const OwnerToken owner = OwnerToken::generate();
  require(store.acquire(key, owner, kLong).has_value() && store.release(key, owner), "a key is not free");
}

}  // namespace

World::World(const WorldPlan& plan) : shape_guard_(plan.shape_guard) {
  add_known_keys(plan.known_keys);
  file_ = std::make_unique<SegmentFile>(path_);
  start_bystander(plan.key == WorldPlan::Key::of_the_bystander);
  if (plan.dead_processes) fill_process_slots();
  prepare_key(plan.key);
  note_fences();
  if (plan.guard != WorldPlan::Guard::sound) die_in_guard(plan.guard);
  file_->keep();
  // What a process does only once, the victims inherit: it would be a part of one operation and not of the
  // others.
  std::ignore = open_view("shm:" + path_);
  sys::RobustMutex mutex;
  require(mutex.initialize() && mutex.try_lock() == sys::RobustMutex::Outcome::locked, "a mutex is not free");
  mutex.unlock();
}

std::shared_ptr<LockStore> World::open() const {
  return std::make_shared<ShmLockStore>(
      path_,
      SegmentOptions{.slots = table::Geometry::kMinSlots, .processes = kProcesses, .guard = shape_guard_});
}

std::shared_ptr<segment::Segment> World::open_segment() const {
  const auto plan =
      table::LockTable::plan(table::Geometry::kMinSlots, kProcesses, segment::Guard::robust_mutex);
  return segment::Segment::open(path_, plan, {0600, false});
}

void World::in_a_process(const std::function<void(LockStore&)>& work) const {
  ChildProcess child([&](Channel&) { work(*open()); });
  require(child.wait() == 0, "a process failed");
}

std::span<const std::byte> World::changing_part() const {
  const std::uint64_t begin = segment::records_offset();
  const table::Geometry geometry(table::Geometry::kMinSlots);
  const std::uint64_t end = segment::body_offset(kProcesses) + geometry.class_for(1).bytes();
  return file_->bytes().subspan(begin, end - begin);
}

// Keys of different lengths, and with different fences: none may come back with that of another. All are
// short enough for one stripe.
void World::add_known_keys(unsigned count) {
  constexpr unsigned kLengths = 16;
  in_a_process([&](LockStore& store) {
    for (unsigned i = 0; i < count; ++i) {
      const LockKey key("known:" + std::to_string(i) + std::string(i % kLengths, '.'));
      for (unsigned grant = 0; grant <= i % 5; ++grant) touch(store, key);
    }
  });
}

void World::note_fences() {
  const TableImage table = image();
  for (const StripeImage& stripe : table.stripes) {
    for (const SlotImage& slot : stripe.slots) {
      if (slot.is_known() && slot.key != kKey && !bystanders_.contains(slot.key))
        fences_[slot.key] = slot.fence;
    }
  }
}

void World::start_bystander(bool holds_key) {
  bystanders_.emplace("bystander:1", OwnerToken::generate());
  bystanders_.emplace("bystander:2", OwnerToken::generate());
  if (holds_key) bystanders_.emplace(kKey, OwnerToken::generate());
  bystander_.emplace([this](Channel& test) {
    const auto store = open();
    for (const auto& [key, token] : bystanders_)
      require(store->acquire(LockKey(key), token, kLong).has_value(), "held");
    test.send("ready");
    for (;;) {
      const std::string key = test.receive();
      test.send(store->release(LockKey(key), bystanders_.at(key)) ? "released" : "lost");
    }
  });
  require(bystander_->receive() == "ready", "there is no bystander");
}

bool World::bystander_releases(const std::string& key) const {
  bystander_->send(key);
  return bystander_->receive() == "released";
}

void World::prepare_key(WorldPlan::Key state) {
  const OwnerToken owner = OwnerToken::generate();
  switch (state) {
    case WorldPlan::Key::known:
      return in_a_process([](LockStore& store) { touch(store, kKey); });
    case WorldPlan::Key::due:
      return in_a_process([](LockStore& store) {
        for (std::uint64_t grant = 0; grant < table::Slot::kMarkStep; ++grant) touch(store, kKey);
      });
    case WorldPlan::Key::of_a_dead_holder:
      return in_a_process(
          [&](LockStore& store) { require(store.acquire(kKey, owner, kLong).has_value(), "free"); });
    case WorldPlan::Key::expired:
      return in_a_process([&](LockStore& store) {
        constexpr auto kShort = 5ms;
        require(store.acquire(kKey, owner, kShort).has_value() && store.outlive_process(kKey, owner),
                "handed over");
        while (store.is_locked(kKey)) std::this_thread::sleep_for(kShort);
      });
    case WorldPlan::Key::unknown:
    case WorldPlan::Key::of_the_bystander:
      return;
  }
}

// They live at the same time, so that each gets a slot of its own.
void World::fill_process_slots() {
  constexpr unsigned kUsed = 2;  // by the first process, which is dead, and by the bystander
  std::vector<ChildProcess> processes;
  for (unsigned i = kUsed; i < kProcesses; ++i) {
    processes.emplace_back([this, i](Channel& test) {
      const auto store = open();
      for (const char* name : {"dead:a:", "dead:b:"}) {
        const LockKey key(name + std::to_string(i));
        require(store->acquire(key, OwnerToken::generate(), kLong).has_value(), "free");
      }
      test.send("ready");
      std::ignore = test.receive();
    });
    require(processes.back().receive() == "ready", "a process cannot attach");
  }
  for (ChildProcess& process : processes) process.kill();
}

void World::die_in_guard(WorldPlan::Guard guard) {
  const std::string torn = "never written to its end";
  const auto store = std::make_shared<std::shared_ptr<LockStore>>();
  Tracee victim(
      {[this, store] {
         *store = open();
         touch(**store, LockKey(known_key()));
       },
       [store, &torn] { std::ignore = (*store)->acquire(LockKey(torn), OwnerToken::generate(), kLong); },
       [] {}});
  const auto is_there = [&] {
    const TableImage table = image();
    for (const SlotImage& slot : table.stripes.front().slots) {
      if (slot.lease.is_reserved() && (guard == WorldPlan::Guard::reserved || slot.key == torn)) return true;
    }
    return false;
  };
  Watch watch(changing_part());
  while (!victim.has_returned() && !(watch.changed() && is_there())) victim.step();
  require(!victim.has_returned(), "nobody died under the mutex");
  victim.kill();
}

std::string World::known_key() const {
  const TableImage table = image();
  for (const auto& [key, fence] : fences_) {
    if (table.find(key) != nullptr) return key;
  }
  throw std::runtime_error("the table knows no key");
}

std::vector<pid_t> World::attached() const {
  std::vector<pid_t> pids;
  const TableImage table = image();
  for (std::uint32_t i = 0; i < kProcesses; ++i) {
    if (sys::is_byte_locked(file_->descriptor(), segment::lock_byte(i)).value_or(true))
      pids.push_back(table.processes[i]);
  }
  return pids;
}

}  // namespace mortise::crash
