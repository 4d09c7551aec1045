#include "mortise/redis_lock_store.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "store/redis/bell.hpp"
#include "store/redis/client.hpp"
#include "store/redis/failure.hpp"
#include "store/redis/options.hpp"
#include "store/redis/owner_text.hpp"
#include "store/redis/scripts.hpp"
#include "store/redis/undo.hpp"
#include "sys/clock.hpp"
#include "sys/entropy.hpp"
#include "sys/process.hpp"

namespace mortise {

namespace redis = store::redis;

namespace {

using redis::Answer;
using redis::KeyNames;
using redis::Reply;
using std::chrono::milliseconds;

constexpr std::chrono::nanoseconds kShortestSleep = milliseconds(1);
// The server keeps the note that somebody waits for as long as the longest sleep.
constexpr std::chrono::nanoseconds kLongestSleep = std::chrono::hours(1);

// Between three quarters of the delay and all of it, so that those who began together do not look together.
std::chrono::nanoseconds with_jitter(std::chrono::nanoseconds delay) {
  constexpr unsigned kParts = 1024;
  const auto part = static_cast<std::int64_t>(sys::thread_random() % kParts);
  return delay - delay / 4 / kParts * part;
}

}  // namespace

class RedisLockStore::Session {
 public:
  explicit Session(redis::Options options, const Session* inherited = nullptr)
      : client_(std::move(options)), inherited_(inherited) {}

  [[nodiscard]] bool is_of_this_process() const { return incarnation_ == sys::incarnation(); }
  // In a forked child that needs it no more: as it is, and still known.
  void leave() {
    static std::atomic<const Session*> last;
    left_before_ = last.exchange(this);
  }
  // What a forked child begins with.
  [[nodiscard]] std::unique_ptr<Session> successor() const {
    return std::make_unique<Session>(client_.options(), this);
  }

  // What came of one look at a key.
  struct Look {
    std::optional<Grant> grant;
    std::optional<milliseconds> busy;  // the time left of who holds it; nullopt: without an end
  };
  // `wait`: for how long the caller is going to sleep if it is refused.
  Look look(const KeyNames& names, OwnerToken owner, Ttl ttl, milliseconds wait) {
    const std::string text = redis::to_text(owner);
    Answer answer = client_.run(redis::kAcquire, names, client_.deadline(), text, ttl.milliseconds().count(),
                                wait.count());
    const Reply& reply = answer.reply;
    if (reply.kind == Reply::Kind::array && reply.elements.size() == 1) {
      client_.give_back(std::move(answer.connection));
      const std::int64_t left = reply.elements[0].integer;
      return {std::nullopt, left < 0 ? std::nullopt : std::optional(milliseconds(left))};
    }
    std::uint64_t fence = 0;
    const std::string& digits = reply.text;
    if (reply.kind != Reply::Kind::text ||
        std::from_chars(digits.data(), digits.data() + digits.size(), fence).ec != std::errc())
      fail_to_acquire(std::move(answer), names, text, ttl);
    if (client_.options().min_replicas > 0) await_replicas(*answer.connection, names, text, ttl);
    client_.give_back(std::move(answer.connection));
    return {Grant{fence}, std::nullopt};
  }

  bool do_if_held(const redis::Script& script, std::string_view verb, const LockKey& key, OwnerToken owner,
                  auto argument) {
    return expect_integer(
               client_.run(script, client_.names(key), client_.deadline(), redis::to_text(owner), argument),
               verb) == 1;
  }

  Reply ask(std::string_view command, std::string_view verb, const LockKey& key) {
    const KeyNames names = client_.names(key);
    Answer answer = client_.ask(
        redis::slot_of(names.lease), [&](redis::Wording) { return redis::Command(command, names.lease); },
        client_.deadline());
    if (!answer.reply.came() || answer.reply.kind == Reply::Kind::error) fail(std::move(answer), verb);
    client_.give_back(std::move(answer.connection));
    return std::move(answer.reply);
  }

  redis::Client& client() { return client_; }

 private:
  [[noreturn]] void fail(Answer answer, std::string_view verb) {
    client_.give_back(std::move(answer.connection));
    redis::throw_failure(answer.reply, verb, client_.server());
  }

  // An answer that makes no sense is none.
  [[noreturn]] void fail_to_acquire(Answer answer, const KeyNames& names, const std::string& owner, Ttl ttl) {
    const bool is_senseless = answer.reply.came() && answer.reply.kind != Reply::Kind::error;
    if (answer.is_uncertain || is_senseless)
      undo_.later(names, owner, sys::deadline_after(ttl.milliseconds()));
    fail(std::move(answer), "acquire");
  }

  std::int64_t expect_integer(Answer answer, std::string_view verb) {
    if (answer.reply.kind != Reply::Kind::integer) redis::throw_failure(answer.reply, verb, client_.server());
    client_.give_back(std::move(answer.connection));
    return answer.reply.integer;
  }

  // Of the connection that the grant came over, for that is what WAIT counts.
  void await_replicas(redis::Connection& connection, const KeyNames& names, const std::string& owner,
                      Ttl ttl) {
    const redis::Options& options = client_.options();
    const redis::Command wait("WAIT", options.min_replicas, options.wait.count());
    const Reply reply = connection.ask(wait, sys::deadline_after(options.wait + options.timeout / 2));
    if (reply.kind == Reply::Kind::integer && reply.integer >= options.min_replicas) return;
    undo_.later(names, owner, sys::deadline_after(ttl.milliseconds()));
    if (reply.kind != Reply::Kind::integer)
      redis::throw_failure(reply, "wait for replicas", client_.server());
    throw StoreError(StoreErrc::unreachable, "mortise: the grant was on " + std::to_string(reply.integer) +
                                                 " replicas of " + client_.server() + " and not on " +
                                                 std::to_string(options.min_replicas) + ", so it is undone");
  }

  redis::Client client_;
  redis::Undo undo_{client_};
  const std::uint64_t incarnation_ = sys::incarnation();
  // The parent's, whose mutexes may be locked for ever. Known here, it is no leak.
  [[maybe_unused]] const Session* const inherited_;
  [[maybe_unused]] const Session* left_before_ = nullptr;
};

RedisLockStore::RedisLockStore(std::string_view url) : session_(new Session(redis::parse_url(url))) {}

RedisLockStore::~RedisLockStore() {
  Session* const session = session_;
  if (session->is_of_this_process()) {
    delete session;
  } else {
    session->leave();
  }
}

RedisLockStore::Session& RedisLockStore::session() {
  Session* session = session_.load(std::memory_order_acquire);
  while (!session->is_of_this_process()) {
    auto fresh = session->successor();
    if (session_.compare_exchange_strong(session, fresh.get())) session = fresh.release();
  }
  return *session;
}

std::optional<Grant> RedisLockStore::acquire(const LockKey& key, OwnerToken owner, Ttl ttl) {
  Session& mine = session();
  return mine.look(mine.client().names(key), owner, ttl, milliseconds(0)).grant;
}

bool RedisLockStore::release(const LockKey& key, OwnerToken owner) {
  return session().do_if_held(redis::kRelease, "release", key, owner, redis::Client::IsRepeated{});
}

bool RedisLockStore::extend(const LockKey& key, OwnerToken owner, Ttl ttl) {
  return session().do_if_held(redis::kExtend, "extend", key, owner, ttl.milliseconds().count());
}

bool RedisLockStore::is_held_by(const LockKey& key, OwnerToken owner) {
  const Reply value = session().ask("GET", "look at a lease", key);
  return value.kind == Reply::Kind::text && value.text == redis::to_text(owner);
}

bool RedisLockStore::is_locked(const LockKey& key) {
  return session().ask("EXISTS", "look at a lease", key).integer != 0;
}

std::optional<milliseconds> RedisLockStore::remaining_time(const LockKey& key) {
  constexpr std::int64_t kNoExpiry = -1;
  const std::int64_t left = session().ask("PTTL", "look at a lease", key).integer;
  if (left == kNoExpiry) return Ttl::kMax;
  return left < 0 ? std::nullopt : std::optional(milliseconds(left));
}

// A look registers that somebody is going to wait, before the bell is listened to: a release in between
// finds the note, and rings a bell that hangs on for some seconds. So no release is missed. Who was rung for
// looks once more before it leaves, whatever made it leave; only who is killed or stopped takes a ringing
// with it, and the others look by themselves after their retry_delay (C15).
std::optional<Grant> RedisLockStore::acquire_within(const LockKey& key, OwnerToken owner, Ttl ttl,
                                                    const WaitOptions& options) {
  constexpr milliseconds kUntilAsleep{1000};  // from the look on
  Session& mine = session();
  const KeyNames names = mine.client().names(key);
  const sys::TimePoint deadline = sys::deadline_after(options.timeout.nanoseconds());
  const auto delay = std::clamp(options.retry_delay.nanoseconds(), kShortestSleep, kLongestSleep);
  redis::Bell bell(mine.client(), names, options.stop);
  for (bool is_last = false;;) {
    is_last = is_last || sys::Clock::now() >= deadline;
    const auto sleep = std::min(deadline, sys::deadline_after(with_jitter(delay)));
    const auto noted = is_last ? milliseconds(0) : std::chrono::ceil<milliseconds>(delay) + kUntilAsleep;
    const auto [grant, busy] = mine.look(names, owner, ttl, noted);
    if (grant || is_last) {
      if (!bell.stop_listening() || grant) return grant;
      continue;
    }
    // The server counts whole milliseconds: at the end of the last one the lease is still there.
    const auto expiry = busy ? sys::deadline_after(*busy + milliseconds(1)) : sys::TimePoint::max();
    if (bell.sleep_until(std::min(sleep, expiry)) != redis::Bell::End::stopped) continue;
    if (!bell.stop_listening()) return std::nullopt;
    is_last = true;
  }
}

}  // namespace mortise
