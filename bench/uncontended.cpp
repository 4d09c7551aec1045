// What does a lease cost that nobody else wants, beside the floors it stands on, in the same run?
#include <benchmark/benchmark.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <mortise/mortise.hpp>
#include <new>

namespace {

using namespace std::chrono_literals;

constexpr auto kKey = "invoice:0000000000004711";  // 24 bytes

// A segment of its own, gone when the program ends.
std::shared_ptr<mortise::LockStore> segment() {
  struct Segment {
    std::string path = std::filesystem::path("/dev/shm") / ("mortise.bench-" + std::to_string(getpid()));
    std::shared_ptr<mortise::LockStore> store = mortise::open_store("shm:" + path);
    ~Segment() { std::filesystem::remove(path); }
  };
  static const Segment instance;
  return instance.store;
}

void clock_read(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(std::chrono::steady_clock::now());
}
BENCHMARK(clock_read);

void robust_mutex(benchmark::State& state) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  void* memory =
      mmap(nullptr, sizeof(pthread_mutex_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* mutex = new (memory) pthread_mutex_t;
  pthread_mutex_init(mutex, &attributes);
  for (auto _ : state) {
    pthread_mutex_lock(mutex);
    benchmark::ClobberMemory();
    pthread_mutex_unlock(mutex);
  }
  // Never unmapped: the C library keeps the addresses of robust mutexes.
}
BENCHMARK(robust_mutex);

void lock_kept(benchmark::State& state) {
  mortise::Lock lease = mortise::lock(kKey, 30s, segment());
  for (auto _ : state) {
    if (!lease.acquire()) state.SkipWithError("somebody else holds the key");
    lease.release();
  }
}
BENCHMARK(lock_kept);

void lock_run(benchmark::State& state) {
  mortise::set_lock_store(segment());
  for (auto _ : state) {
    if (!mortise::lock(kKey).run([] { benchmark::ClobberMemory(); }))
      state.SkipWithError("somebody else holds the key");
  }
}
BENCHMARK(lock_run);

void new_keys(benchmark::State& state) {
  std::uint64_t number = 0;
  for (auto _ : state) {
    const auto key = "key:" + std::to_string(number++);
    mortise::Lock lease = mortise::lock(key, 30s, segment());
    if (!lease.acquire()) state.SkipWithError("somebody else holds the key");
    lease.release();
  }
}
BENCHMARK(new_keys);

void busy_answer(benchmark::State& state) {
  mortise::Lock holder = mortise::lock(kKey, 1h, segment());
  if (!holder.acquire()) state.SkipWithError("somebody else holds the key");
  mortise::Lock other = mortise::lock(kKey, 1h, segment());
  for (auto _ : state) benchmark::DoNotOptimize(other.acquire());
}
BENCHMARK(busy_answer);

}  // namespace
