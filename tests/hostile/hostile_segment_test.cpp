// A live segment whose bytes somebody changes. Whoever uses it gets an answer or a StoreError: nobody
// crashes, nobody hangs, and the file keeps its size.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "hostile/live_segment.hpp"
#include "hostile/vandal.hpp"
#include "support/child_process.hpp"
#include "support/shared.hpp"
#include "support/temporary_directory.hpp"
#include "support/watchdog.hpp"

namespace mortise::hostile {
namespace {

using test::Channel;
using test::ChildProcess;

#if defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kCorruptions = 10'000;
#else
constexpr std::uint64_t kCorruptions = 100'000;
#endif
constexpr std::uint64_t kProcesses = 8;
constexpr std::size_t kCodes = 32;

// What a process reports, also if it crashes.
struct Report {
  std::atomic<std::uint64_t> corruptions;  // begun
  std::atomic<std::uint64_t> seed;         // of the last one
  std::atomic<std::uint64_t> answers;
  std::array<std::atomic<std::uint64_t>, kCodes> errors;
};

// MORTISE_HOSTILE_SEED in the environment, or one that is new every time.
std::uint64_t first_seed() {
  const char* wanted = std::getenv("MORTISE_HOSTILE_SEED");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : std::random_device{}();
}

void add(const Tally& tally, Report& report) {
  report.answers += tally.answers;
  for (const auto& [code, count] : tally.errors) report.errors.at(static_cast<std::size_t>(code)) += count;
}

void suffer(const std::string& path, std::uint64_t seed, Report& report) {
  constexpr std::chrono::seconds kLimit{100};
  constexpr std::uint64_t kBetweenWaits = 50;
  constexpr std::uint64_t kBetweenOthers = 100;
  const test::Watchdog watchdog(kLimit);
  const LiveSegment segment(path);
  Vandal vandal(segment.bytes());
  Tally tally;
  for (std::uint64_t i = 0; i < kCorruptions / kProcesses; ++i, ++seed) {
    ++report.corruptions;
    report.seed = seed;
    segment.restore();
    if (vandal.strike(seed)) segment.open(tally);
    if (i % kBetweenOthers == 0) segment.attach_another(tally);
    if (i % kBetweenWaits == 0) segment.wait(tally);
    segment.use(i % LiveSegment::kSlotSizes, tally);
  }
  if (!segment.has_its_size()) throw std::runtime_error("the file has another size");
  add(tally, report);
}

TEST(HostileSegment, IsAnsweredOrRefused) {
  const std::uint64_t seed = first_seed();
  std::printf("MORTISE_HOSTILE_SEED=%llu\n", static_cast<unsigned long long>(seed));
  const test::TemporaryDirectory directory;
  const test::Shared<std::array<Report, kProcesses>> reports;
  std::vector<ChildProcess> processes;
  for (std::uint64_t i = 0; i < kProcesses; ++i) {
    processes.emplace_back([&, i](Channel&) {
      suffer(directory.file(std::to_string(i)), seed + i * kCorruptions, (*reports)[i]);
    });
  }
  std::uint64_t corruptions = 0;
  std::uint64_t answers = 0;
  std::array<std::uint64_t, kCodes> errors{};
  for (std::uint64_t i = 0; i < kProcesses; ++i) {
    const Report& report = (*reports)[i];
    EXPECT_EQ(processes[i].wait(), 0) << "at the corruption with the seed " << report.seed;
    corruptions += report.corruptions;
    answers += report.answers;
    for (std::size_t code = 0; code < kCodes; ++code) errors[code] += report.errors[code];
  }
  EXPECT_EQ(corruptions, kCorruptions);
  std::printf("%llu corruptions, %llu answers", static_cast<unsigned long long>(corruptions),
              static_cast<unsigned long long>(answers));
  for (std::size_t code = 0; code < kCodes; ++code) {
    if (errors[code] == 0) continue;
    std::printf(", %llu times \"%s\"", static_cast<unsigned long long>(errors[code]),
                make_error_code(static_cast<StoreErrc>(code)).message().c_str());
  }
  std::printf("\n");
}

}  // namespace
}  // namespace mortise::hostile
