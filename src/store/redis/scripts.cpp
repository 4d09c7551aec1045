#include "store/redis/scripts.hpp"

#include <array>
#include <cstddef>

#include "store/redis/sha1.hpp"

namespace mortise::store::redis {

namespace {

template <std::size_t... Sizes>
constexpr auto joined(const char (&... parts)[Sizes]) {  // NOLINT(modernize-avoid-c-arrays)
  std::array<char, (Sizes + ...) - sizeof...(Sizes)> text{};
  std::size_t end = 0;
  const auto add = [&](const auto& part, std::size_t size) {
    for (std::size_t i = 0; i + 1 < size; ++i) text[end++] = part[i];
  };
  (add(parts, Sizes), ...);
  return text;
}

// The notes outlive the lease, and whoever waits for it, by a day. When they are lost all the same, the
// fencing number goes on from the clock, which runs faster than a key can be granted.
constexpr char kKeepNotes[] = R"(
local function keep_notes(time)
  time = time + 86400000
  if redis.call('PTTL', KEYS[2]) < time then redis.call('PEXPIRE', KEYS[2], time) end
end
)";

// Rung only when somebody may be waiting, or the bell would have to be taken down again. It hangs on for who
// has looked and is not asleep yet. No memory for it is no reason to fail: the waiter looks by itself.
constexpr char kRing[] = R"(
local function ring()
  local waiting = tonumber(redis.call('HGET', KEYS[2], 'w') or 0)
  if waiting == 0 then return end
  local now = redis.call('TIME')
  if waiting < now[1] * 1000 + now[2] / 1000 then return end
  if redis.call('EXISTS', KEYS[3]) == 0 then
    redis.pcall('RPUSH', KEYS[3], '1')
    redis.pcall('PEXPIRE', KEYS[3], 5000)
  end
end
)";

constexpr auto kAcquireText = joined(kKeepNotes, R"(
local owner, ttl, wait = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local held = redis.call('GET', KEYS[1])
local now = redis.call('TIME')
if held and held ~= owner then
  if wait > 0 then
    local till = now[1] * 1000 + now[2] / 1000 + wait
    if till > tonumber(redis.call('HGET', KEYS[2], 'w') or 0) then
      redis.call('HSET', KEYS[2], 'w', string.format('%.0f', till))
      keep_notes(wait)
    end
  end
  return {redis.call('PTTL', KEYS[1])}
end
local fence = redis.call('HGET', KEYS[2], 'f')
if not held or not fence then
  fence = string.format('%.0f', math.max(tonumber(fence or 0) + 1, now[1] * 1000000 + now[2]))
end
redis.call('SET', KEYS[1], owner, 'PX', ttl)
redis.call('HSET', KEYS[2], 'f', fence)
keep_notes(ttl)
return fence
)");

// Who released last is noted, so that a release whose answer was lost can be repeated.
constexpr auto kReleaseText = joined(kKeepNotes, kRing, R"(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return ARGV[2] == '1' and redis.call('HGET', KEYS[2], 'r') == ARGV[1] and 1 or 0
end
redis.call('DEL', KEYS[1])
if type(redis.pcall('HSET', KEYS[2], 'r', ARGV[1])) == 'number' then keep_notes(0) end
ring()
return 1
)");

// Who sleeps until an expiry that has come nearer must look again.
constexpr auto kExtendText = joined(kKeepNotes, kRing, R"(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local left, ttl = redis.call('PTTL', KEYS[1]), tonumber(ARGV[2])
redis.call('PEXPIRE', KEYS[1], ttl)
keep_notes(ttl)
if left < 0 or ttl < left then ring() end
return 1
)");

template <const auto& text>
constexpr Sha1Hex kName = sha1({text.data(), text.size()});

template <const auto& text>
constexpr Script script() {
  return {{text.data(), text.size()}, {kName<text>.data(), kName<text>.size()}};
}

}  // namespace

constexpr Script kAcquire = script<kAcquireText>();
constexpr Script kRelease = script<kReleaseText>();
constexpr Script kExtend = script<kExtendText>();

}  // namespace mortise::store::redis
