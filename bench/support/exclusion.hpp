// The ways for processes to exclude each other that are compared.
#pragma once

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mortise/mortise.hpp>
#include <string>

#include "support/team.hpp"

namespace mortise::bench {

// Made before the processes fork; each uses its copy.
class Exclusion {
 public:
  Exclusion() = default;
  Exclusion(const Exclusion&) = delete;
  Exclusion& operator=(const Exclusion&) = delete;
  virtual ~Exclusion() = default;

  [[nodiscard]] virtual const char* name() const = 0;
  virtual void acquire() = 0;
  virtual void release() = 0;
};

// A file name that nobody else uses; the file is removed at the end.
class TemporaryFile {
 public:
  TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A key in a segment of its own.
class MortiseLease : public Exclusion {
 public:
  explicit MortiseLease(Ttl ttl = std::chrono::hours(1), AcquireOptions options = event_only());
  // So long a retry_delay that a waiter is told, or does not find out.
  static AcquireOptions event_only();

  [[nodiscard]] const char* name() const override { return "mortise"; }
  void acquire() override;
  void release() override;

 private:
  TemporaryFile file_;
  AcquireOptions options_;
  Lock lock_;
};

// The floor of a hand-off: one word, one sleep, one wake. Always wakes, whether anybody sleeps or not.
class RawFutex : public Exclusion {
 public:
  [[nodiscard]] const char* name() const override { return "raw futex"; }
  void acquire() override;
  void release() override;

 private:
  Shared<std::atomic<std::uint32_t>> taken_{0U};
};

class FileLock : public Exclusion {
 public:
  [[nodiscard]] const char* name() const override { return "flock"; }
  void acquire() override;
  void release() override;

 private:
  TemporaryFile file_;
  int descriptor_ = -1;  // while it is held: each acquire has an open file description of its own
};

class RobustMutex : public Exclusion {
 public:
  RobustMutex();
  [[nodiscard]] const char* name() const override { return "robust mutex"; }
  void acquire() override;
  void release() override;

 private:
  Shared<pthread_mutex_t> mutex_{pthread_mutex_t{}};
};

}  // namespace mortise::bench
