// The ways for processes to exclude each other that are compared. mortise is one of them; the others are in
// peers/.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <mortise/mortise.hpp>
#include <string>

#include "support/temporary.hpp"

namespace mortise::bench {

// Throws, and names what failed.
void must(bool succeeded, const char* what);

// Made before the processes fork; each uses its copy.
class Exclusion {
 public:
  Exclusion() = default;
  Exclusion(const Exclusion&) = delete;
  Exclusion& operator=(const Exclusion&) = delete;
  virtual ~Exclusion() = default;

  // Once in each process that is going to use it: for what does not survive a fork, as a connection.
  virtual void enter() {}
  virtual void acquire() = 0;
  virtual void release() = 0;
  // Acquires and releases so many times.
  virtual void cycle(std::size_t times) {
    for (; times > 0; --times) {
      acquire();
      release();
    }
  }
};

// The same without a virtual call in each cycle: that would be most of what the cheapest ones cost.
template <class Base>
class Cycled final : public Base {
 public:
  using Base::Base;
  void cycle(std::size_t times) override {
    for (; times > 0; --times) {
      Base::acquire();
      Base::release();
    }
  }
};

// A segment that only this benchmark uses.
class Segment {
 public:
  explicit Segment(const std::string& options = "") : store_(open_store("shm:" + file_.path() + options)) {}
  [[nodiscard]] const std::shared_ptr<LockStore>& store() const { return store_; }
  [[nodiscard]] const std::string& path() const { return file_.path(); }

 private:
  TemporaryName file_;
  std::shared_ptr<LockStore> store_;
};

constexpr auto kUsualKey = "invoice:0000000000004711";  // 24 bytes

// A key in a segment of its own, or in that of others.
class MortiseLease : public Exclusion {
 public:
  explicit MortiseLease(Ttl ttl = std::chrono::hours(1), AcquireOptions options = event_only());
  MortiseLease(std::shared_ptr<Segment> segment, const LockKey& key, Ttl ttl, AcquireOptions options);
  // So long a retry_delay that a waiter is told, or does not find out.
  static AcquireOptions event_only();

  void acquire() override;
  void release() override;

 private:
  std::shared_ptr<Segment> segment_;
  AcquireOptions options_;
  Lock lock_;
};

}  // namespace mortise::bench
