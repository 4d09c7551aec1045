// The wall clock may jump (C25). This program has a wall clock of its own: it defines the functions that
// everything in it, the C++ library included, reads the time with, and answers with that of the kernel and a
// step that the test sets. The machine's clock is left alone.
#include <gmock/gmock.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include "mortise/mortise.hpp"
#include "support/child_process.hpp"
#include "support/shared.hpp"
#include "support/stopwatch.hpp"
#include "support/temporary_directory.hpp"
#include "support/watchdog.hpp"

namespace {

// In memory that forked children share, so that the clock steps for all of them.
std::atomic<std::atomic<long>*> wall_clock_step = nullptr;  // seconds

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, struct timespec* time) noexcept {
  const long result = syscall(SYS_clock_gettime, clock, time);
  const bool is_wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
  if (std::atomic<long>* step = wall_clock_step; is_wall && step != nullptr) time->tv_sec += *step;
  return static_cast<int>(result);
}

int gettimeofday(struct timeval* __restrict time, void* __restrict) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  *time = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* result) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (result != nullptr) *result = now.tv_sec;
  return now.tv_sec;
}

}  // extern "C"

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

class WallClock : public testing::Test {
 protected:
  WallClock() { wall_clock_step = &*step; }
  ~WallClock() override { wall_clock_step = nullptr; }

  const Watchdog watchdog;
  const Shared<std::atomic<long>> step;
};

TEST_F(WallClock, JumpsInThisProgram) {
  const auto before = std::chrono::system_clock::now();
  *step = 3600;
  EXPECT_THAT(std::chrono::system_clock::now() - before, IsWithin(1h, 1h + kSlack));
  EXPECT_GE(time(nullptr), std::chrono::system_clock::to_time_t(before) + 3600);
}

// What happens to a lease, to a wait that is in vain, to one that is not, and to a lease that is kept alive.
class Jumps : public WallClock {
 protected:
  static constexpr auto kTtl = 900ms;
  static constexpr auto kTimeout = 500ms;
  static constexpr auto kStep = 150ms;

  // Steps the clock by an hour: once, or back and forth.
  void play(const std::shared_ptr<LockStore>& store, long seconds, bool again_and_again) const {
    SCOPED_TRACE((again_and_again ? "again and again by " : "by ") + std::to_string(seconds) + " s");
    *step = 0;
    Lock kept = lock("kept", kTimeout, store);
    ASSERT_TRUE(kept.acquire({.keep_alive = true}));
    const std::stop_token lost = kept.lost_token();
    Lock held = lock("k", kTtl, store);
    const Stopwatch since_grant;
    ASSERT_TRUE(held.acquire_immediately());
    {
      const std::jthread stepping([&](const std::stop_token& over) {
        std::this_thread::sleep_for(kStep);
        for (*step = seconds; again_and_again && !over.stop_requested(); *step = -*step)
          std::this_thread::sleep_for(20ms);
      });
      const std::jthread in_vain([&] {
        EXPECT_FALSE(lock("k", 1s, store).acquire({.timeout = kTimeout}));
        EXPECT_THAT(since_grant.elapsed(), IsWithin(kTimeout, kTimeout + kSlack));
        EXPECT_THAT(held.remaining_time(), testing::Optional(IsWithin(1ms, kTtl - kTimeout)));
      });
      EXPECT_TRUE(lock("k", 1s, store).acquire({.timeout = 20s}));
      EXPECT_THAT(since_grant.elapsed(), IsWithin(kTtl, kTtl + kSlack));
    }
    EXPECT_FALSE(lost.stop_requested());
    EXPECT_TRUE(kept.release());
  }

  void play_all(const std::shared_ptr<LockStore>& store) const {
    play(store, 3600, false);
    play(store, -3600, false);
    play(store, 3600, true);
  }
};

TEST_F(Jumps, C4_MoveNoWaitAndNoExpiryInSharedMemory) {
  const TemporaryDirectory directory;
  play_all(std::make_shared<ShmLockStore>(directory.file("segment")));
}

TEST_F(Jumps, C4_MoveNoWaitAndNoExpiryInMemory) {
  play_all(std::make_shared<MemoryLockStore>());
}

// The clock steps for another process than the one that holds.
TEST_F(Jumps, C4_MoveNoWaitOfAnotherProcess) {
  const TemporaryDirectory directory;
  const auto open = [&] { return std::make_shared<ShmLockStore>(directory.file("segment")); };
  Lock held = lock("k", kTtl, open());
  const Stopwatch since_grant;
  ASSERT_TRUE(held.acquire_immediately());
  const ChildProcess waiting([&](Channel& test) {
    test.send("waiting");
    test.send(lock("k", 1s, open()).acquire({.timeout = 20s}) ? "granted" : "refused");
  });
  ASSERT_EQ(waiting.receive(), "waiting");
  std::this_thread::sleep_for(kStep);
  *step = -3600;
  EXPECT_EQ(waiting.receive(), "granted");
  EXPECT_THAT(since_grant.elapsed(), IsWithin(kTtl, kTtl + kSlack));
}

}  // namespace
}  // namespace mortise::test
