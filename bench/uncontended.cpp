// What does a lease cost that nobody else wants, with keys of several lengths, and a handle that is kept,
// made anew, or made by run()?
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <mortise/mortise.hpp>
#include <string>

namespace {

using namespace std::chrono_literals;

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

std::string key_of(const benchmark::State& state) {
  std::string key;
  key.resize(static_cast<std::size_t>(state.range(0)), 'k');
  return key;
}

void lock_kept(benchmark::State& state) {
  mortise::Lock lease = mortise::lock(key_of(state), 30s, segment());
  for (auto _ : state) {
    if (!lease.acquire()) state.SkipWithError("somebody else holds the key");
    lease.release();
  }
}

void lock_made_anew(benchmark::State& state) {
  const std::string key = key_of(state);
  for (auto _ : state) {
    mortise::Lock lease = mortise::lock(key, 30s, segment());
    if (!lease.acquire()) state.SkipWithError("somebody else holds the key");
    lease.release();
  }
}

void lock_run(benchmark::State& state) {
  mortise::set_lock_store(segment());
  const std::string key = key_of(state);
  for (auto _ : state) {
    if (!mortise::lock(key).run([] { benchmark::ClobberMemory(); }))
      state.SkipWithError("somebody else holds the key");
  }
}

void for_key_lengths(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("key_bytes")->Arg(8)->Arg(24)->Arg(64)->Arg(200);
}
BENCHMARK(lock_kept)->Apply(for_key_lengths);
BENCHMARK(lock_made_anew)->Apply(for_key_lengths);
BENCHMARK(lock_run)->Apply(for_key_lengths);

}  // namespace
