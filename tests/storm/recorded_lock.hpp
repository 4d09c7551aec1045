// A Lock whose every call is written down, and that visits what it guards.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "journal.hpp"
#include "mortise/mortise.hpp"
#include "world.hpp"

namespace mortise::storm {

// Who calls, and where it is written down.
class Recorder {
 public:
  Recorder(World& world, Journal& journal, unsigned seat, ProcessNumber process,
           std::shared_ptr<LockStore> store);

  // Does not return when the journal is full: the round is over then.
  Operation& invoke(Operation call);
  LeaseId new_lease() { return std::uint64_t{process_ + 1} << 32U | ++leases_; }
  void visited(KeyIndex key, std::uint64_t fence, GuardedResource::Visit visit);
  void complain(std::string_view text) { world_.findings.add(text); }

  [[nodiscard]] World& world() const { return world_; }
  [[nodiscard]] Tally& tally() const { return world_.tallies[seat_]; }
  [[nodiscard]] Outbox& outbox() const { return world_.outboxes[seat_]; }
  [[nodiscard]] ProcessNumber process() const { return process_; }
  [[nodiscard]] const std::shared_ptr<LockStore>& store() const { return store_; }

 private:
  World& world_;
  Journal& journal_;
  unsigned seat_;
  ProcessNumber process_;
  std::shared_ptr<LockStore> store_;
  std::uint32_t leases_ = 0;
};

class RecordedLock {
 public:
  RecordedLock(Recorder& recorder, KeyIndex key, Millis ttl);
  RecordedLock(Recorder& recorder, const Letter& letter);

  // `patience`: when an answer is due. A grant is followed by a visit.
  bool acquire(const AcquireOptions& options = {}, Millis patience = {});
  bool extend(Millis ttl);
  // The lease is in force, and nobody was told otherwise.
  bool check();
  // From now on this handle is to be told when it loses the lease.
  void watch();
  bool release();
  bool detach();
  Letter serialize();
  // What the destructor of a Lock does.
  void drop();
  void visit();

  // In a forked child: writes nothing down.
  bool is_inert();

  [[nodiscard]] bool is_detached() const { return detached_; }
  [[nodiscard]] bool is_kept_alive() const { return kept_alive_; }
  // The lease is in force until here at least, unless somebody broke a promise.
  [[nodiscard]] Time certain_until() const { return certain_until_; }

 private:
  [[nodiscard]] Operation call(Kind kind) const;
  GuardedResource& resource() { return recorder_->world().resources[key_]; }

  Recorder* recorder_;
  KeyIndex key_;
  Millis ttl_;
  LeaseId lease_;
  Lock lock_;
  Time certain_until_{};
  std::stop_token lost_;
  bool detached_ = false;
  bool kept_alive_ = false;
};

}  // namespace mortise::storm
