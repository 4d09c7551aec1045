#include "hostile/live_segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <tuple>

#include "support/child_process.hpp"

namespace mortise::hostile {

namespace {

using namespace std::chrono_literals;

constexpr SegmentOptions kSmall{.slots = 64, .processes = 8};

const std::array<std::string, LiveSegment::kSlotSizes>& suffixes() {
  static const std::array<std::string, LiveSegment::kSlotSizes> all = {"", std::string(100, 'm'),
                                                                       std::string(400, 'l')};
  return all;
}

void require(bool holds) {
  if (!holds) throw std::runtime_error("the segment cannot be made");
}

template <class Operation>
void attempt(Tally& tally, Operation&& operation) {
  try {
    operation();
    ++tally.answers;
  } catch (const StoreError& error) {
    ++tally.errors[static_cast<StoreErrc>(error.code().value())];
  }
}

void use_key(LockStore& store, const LockKey& key, OwnerToken holder, Tally& tally) {
  const OwnerToken mine = OwnerToken::generate();
  attempt(tally, [&] { std::ignore = store.is_locked(key); });
  attempt(tally, [&] { std::ignore = store.remaining_time(key); });
  attempt(tally, [&] { std::ignore = store.is_held_by(key, holder); });
  attempt(tally, [&] { std::ignore = store.extend(key, holder, 50s); });
  attempt(tally, [&] { std::ignore = store.acquire(key, mine, 40s); });
  attempt(tally, [&] { std::ignore = store.outlive_process(key, mine); });
  attempt(tally, [&] { std::ignore = store.release(key, mine); });
  attempt(tally, [&] { std::ignore = store.release(key, holder); });
}

}  // namespace

LiveSegment::LiveSegment(const std::string& path)
    : path_(path), store_(std::make_shared<ShmLockStore>(path, kSmall)) {
  test::ChildProcess dead([&](test::Channel&) {
    require(store_->acquire("of the dead", OwnerToken::generate(), 1h).has_value());
  });
  require(dead.wait() == 0);
  for (const std::string& suffix : suffixes()) {
    require(store_->acquire(LockKey("held" + suffix), owner_, 1h).has_value());
    require(store_->acquire(LockKey("free" + suffix), owner_, 1h).has_value());
    require(store_->release(LockKey("free" + suffix), owner_));
  }
  require(store_->acquire("handed over", owner_, 1h).has_value() &&
          store_->outlive_process("handed over", owner_));
  require(store_->acquire("expired", owner_, 1ms).has_value());
  view_ = open_view("shm:" + path_);

  const int file = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
  struct stat status {};
  require(file >= 0 && fstat(file, &status) == 0);
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const address = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (address == MAP_FAILED) throw std::system_error(errno, std::generic_category(), path_);
  bytes_ = {static_cast<std::byte*>(address), size};
  whole_.assign(bytes_.begin(), bytes_.end());
}

LiveSegment::~LiveSegment() {
  munmap(bytes_.data(), bytes_.size());
}

bool LiveSegment::has_its_size() const {
  struct stat status {};
  return stat(path_.c_str(), &status) == 0 && static_cast<std::size_t>(status.st_size) == bytes_.size();
}

void LiveSegment::restore() const {
  std::memcpy(bytes_.data(), whole_.data(), whole_.size());
}

void LiveSegment::use(std::size_t slot_size, Tally& tally) const {
  attempt(tally, [&] { std::ignore = view_->leases(); });
  for (const char* name : {"held", "free", "new"})
    use_key(*store_, LockKey(name + suffixes().at(slot_size)), owner_, tally);
  for (const char* name : {"handed over", "expired", "of the dead"}) use_key(*store_, name, owner_, tally);
  attempt(tally, [&] { std::ignore = view_->check(); });
}

void LiveSegment::open(Tally& tally) const {
  attempt(tally, [&] { std::ignore = open_view("shm:" + path_)->lease("held"); });
  attempt(tally, [&] { ShmLockStore(path_, kSmall).is_locked("held"); });
}

void LiveSegment::wait(Tally& tally) const {
  const OwnerToken mine = OwnerToken::generate();
  attempt(tally, [&] { std::ignore = store_->acquire_within("held", mine, 1s, {2ms, 1ms}); });
}

void LiveSegment::attach_another(Tally& tally) const {
  test::ChildProcess another([&](test::Channel& parent) {
    Tally its;
    use_key(*store_, "new", owner_, its);
    parent.send(std::to_string(its.answers));
  });
  tally.answers += std::stoul(another.receive());
  require(another.wait() == 0);
}

}  // namespace mortise::hostile
