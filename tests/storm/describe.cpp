#include "describe.hpp"

#include <array>
#include <cinttypes>
#include <cstdio>

namespace mortise::storm {

namespace {

std::string seconds(Time time) {
  if (time == kNever) return "never";
  constexpr std::int64_t kBillion = 1'000'000'000;
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%" PRId64 ".%09" PRId64, time.count() / kBillion,
                time.count() % kBillion);
  return text.data();
}

}  // namespace

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::acquire:
      return "acquire";
    case Kind::extend:
      return "extend";
    case Kind::check:
      return "check";
    case Kind::release:
      return "release";
    case Kind::drop:
      return "drop";
    case Kind::detach:
      return "detach";
    case Kind::serialize:
      return "serialize";
    case Kind::burst:
      return "burst";
    case Kind::fork:
      return "fork";
    case Kind::exit:
      return "exit";
  }
  return "?";
}

const char* name_of(Result result) {
  switch (result) {
    case Result::none:
      return "nothing";
    case Result::yes:
      return "yes";
    case Result::no:
      return "no";
    case Result::stalled:
      return "stalled";
  }
  return "?";
}

std::string describe(const Operation& call) {
  std::string text = "process " + std::to_string(call.process) + " called " + name_of(call.kind);
  if (call.kind == Kind::acquire || call.kind == Kind::extend)
    text += "(ttl " + std::to_string(call.ttl.count()) + " ms)";
  if (call.keep_alive) text += " and keeps alive";
  if (call.timeout.count() > 0) text += " with " + std::to_string(call.timeout.count()) + " ms to wait";
  text += " on key " + std::to_string(call.key) + ", lease " + std::to_string(call.lease) + ", at " +
          seconds(call.invoked);
  if (call.is_open()) return text + " and never returned";
  return text + " and was told " + name_of(call.result) + " at " + seconds(call.returned);
}

std::string describe(const LeaseLife& life) {
  return "fence " + std::to_string(life.grant->fence) + " (" + describe(*life.grant) + "; certain until " +
         seconds(life.certain_until) + ", over by " + seconds(life.over_by) + ")";
}

}  // namespace mortise::storm
