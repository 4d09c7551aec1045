// How much memory does a key take?
#include <malloc.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <mortise/mortise.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "support/exclusion.hpp"
#include "support/keys.hpp"
#include "support/options.hpp"
#include "support/report.hpp"

namespace mortise::bench {

namespace {

using namespace std::chrono_literals;

constexpr double kSlots = 16384;

std::vector<char> bytes_of(const Segment& segment) {
  std::ifstream file(segment.path(), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// So many cache lines of the segment differ from what they were.
double changed_bytes(const std::vector<char>& before, const std::vector<char>& after) {
  constexpr std::size_t kLine = 64;
  const std::string_view old(before.data(), before.size());
  const std::string_view now(after.data(), after.size());
  double bytes = 0;
  for (std::size_t at = 0; at < old.size(); at += kLine) {
    if (old.substr(at, kLine) != now.substr(at, kLine)) bytes += kLine;
  }
  return bytes;
}

// After so many keys of this length that each slot has had one.
double bytes_for_keys(std::size_t key_bytes, std::size_t keys) {
  const Segment segment("?slots=16384");
  const std::vector<char> before = bytes_of(segment);
  KeyMaker make_key(key_bytes);
  for (std::size_t i = 0; i < keys; ++i)
    must(bool(lock(make_key(i), 30s, segment.store()).run([] {})), "run");
  return changed_bytes(before, bytes_of(segment));
}

double heap() {
  return static_cast<double>(mallinfo2().uordblks + mallinfo2().hblkhd);
}

// A handle that is kept, whether it holds its lease or not.
double bytes_for_handle(std::size_t key_bytes, std::size_t handles) {
  const Segment segment;
  const double before = heap();
  std::vector<Lock> locks;
  locks.reserve(handles);
  KeyMaker make_key(key_bytes);
  for (std::size_t i = 0; i < handles; ++i) {
    locks.emplace_back(make_key(i), 30s, segment.store());
    must(locks.back().acquire(), "acquire");
  }
  return (heap() - before) / static_cast<double>(handles);
}

void measure(const Options& options, Report& report) {
  const std::size_t keys = options.choose<std::size_t>(200'000, 200'000, 1'000);
  for (const std::size_t bytes : {std::size_t{24}, std::size_t{64}})
    report.add({"written in the segment, for each slot, keys of " + std::to_string(bytes) + " bytes",
                "bytes",
                {bytes_for_keys(bytes, keys) / kSlots},
                at_most(160)});
  const Segment segment("?slots=16384");
  report.add({"the whole segment, longer keys' slots included, for each slot asked for",
              "bytes",
              {static_cast<double>(bytes_of(segment).size()) / kSlots}});
  for (const std::size_t bytes : {std::size_t{24}, std::size_t{64}, std::size_t{200}})
    report.add({"in the process, for each Lock that is kept, keys of " + std::to_string(bytes) + " bytes",
                "bytes",
                {bytes_for_handle(bytes, options.choose(1'000U, 1'000U, 100U))}});
}

}  // namespace

}  // namespace mortise::bench

int main(int argc, char** argv) {
  return mortise::bench::run("memory", argc, argv, mortise::bench::measure);
}
