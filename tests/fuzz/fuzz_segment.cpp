// Changes a live segment and uses it. The input is a list of changes: which field, and what is written there.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hostile/live_segment.hpp"
#include "hostile/vandal.hpp"
#include "segment/layout.hpp"
#include "support/temporary_directory.hpp"
#include "table/geometry.hpp"

namespace {

using mortise::hostile::LiveSegment;

constexpr std::size_t kBody = mortise::segment::records_offset() + mortise::segment::kPage;

const LiveSegment& segment() {
  static const mortise::test::TemporaryDirectory directory;
  static const LiveSegment live(directory.file("segment"));
  return live;
}

// True: something in front of the table was changed.
bool change(FuzzedDataProvider& input) {
  static const auto fields = mortise::hostile::fields_of(segment().bytes());
  bool in_front = false;
  while (input.remaining_bytes() > 0) {
    const auto [offset, size] = fields[input.ConsumeIntegralInRange<std::size_t>(0, fields.size() - 1)];
    std::uint64_t content = 0;
    std::memcpy(&content, &segment().bytes()[offset], size);
    // Some fields hold a small number, a length or a process slot, beside something that nobody guesses.
    content = input.ConsumeBool()
                  ? input.ConsumeIntegral<std::uint64_t>()
                  : (content & ~std::uint64_t{0xffff}) | input.ConsumeIntegral<std::uint16_t>();
    std::memcpy(&segment().bytes()[offset], &content, size);
    in_front |= mortise::hostile::is_in_front(offset);
  }
  return in_front;
}

// A mutex that looks locked by a thread that there is costs whoever adds a key a second, as it must: too slow
// for a fuzzer.
void unlock_mutexes() {
  using mortise::sys::RobustMutex;
  static const mortise::table::Geometry geometry(mortise::table::Geometry::kMinSlots);
  for (const auto& slots : geometry.classes()) {
    auto* const mutex = reinterpret_cast<RobustMutex*>(&segment().bytes()[kBody + slots.offset]);
    if (mutex->condition().state == RobustMutex::Condition::State::held)
      std::memset(static_cast<void*>(mutex), 0, sizeof(std::uint32_t));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider input(data, size);
  segment().restore();
  const auto slot_size = input.ConsumeIntegralInRange<std::size_t>(0, LiveSegment::kSlotSizes - 1);
  const bool in_front = change(input);
  unlock_mutexes();
  mortise::hostile::Tally tally;
  if (in_front) segment().open(tally);
  segment().use(slot_size, tally);
  return 0;
}
