#include "mortise/sql_lock_store.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "store/sql/database.hpp"
#include "store/sql/key_text.hpp"
#include "store/sql/lease_rows.hpp"
#include "store/sql/open.hpp"
#include "store/sql/sweeper.hpp"
#include "sys/clock.hpp"
#include "sys/entropy.hpp"

namespace mortise {

namespace {

using sql::Answer;
using sql::Parameter;
using sql::Query;
using sql::Row;

constexpr std::chrono::nanoseconds kShortestDelay = std::chrono::milliseconds(1);

std::optional<Row> find(sql::Database& database, const LockKey& key) {
  const std::string text = sql::text_of(key);
  Answer answer = database.run(Query::find, std::array<Parameter, 1>{text});
  if (answer.rows.empty()) return std::nullopt;
  return std::move(answer.rows.front());
}

// Of waiters that began together, each looks at another moment.
std::chrono::nanoseconds jittered(std::chrono::nanoseconds delay) {
  const std::chrono::nanoseconds spread = delay / 4;
  if (spread.count() == 0) return delay;
  return delay - std::chrono::nanoseconds(sys::thread_random() % static_cast<std::uint64_t>(spread.count()));
}

}  // namespace

SqlLockStore::SqlLockStore(std::string_view url)
    : database_(sql::open_database(url)), sweeper_(std::make_unique<sql::Sweeper>(*database_)) {}

SqlLockStore::~SqlLockStore() = default;

std::optional<Grant> SqlLockStore::acquire(const LockKey& key, OwnerToken owner, Ttl ttl) {
  const std::string key_text = sql::text_of(key);
  const std::string owner_text = sql::text_of(owner);
  const Answer answer = database_->run(
      Query::acquire, std::array<Parameter, 3>{key_text, owner_text, ttl.milliseconds().count()});
  sweeper_->sweep_if_due();
  if (answer.rows.empty()) return std::nullopt;
  return Grant{static_cast<std::uint64_t>(sql::to_number(answer.rows.front()[0]))};
}

bool SqlLockStore::release(const LockKey& key, OwnerToken owner) {
  const std::string key_text = sql::text_of(key);
  const std::string owner_text = sql::text_of(owner);
  const Answer answer = database_->run(Query::release, std::array<Parameter, 2>{key_text, owner_text});
  if (answer.rows.empty() && answer.is_second) {
    throw StoreError(StoreErrc::unreachable,
                     "the connection was lost during a release; the lease is over now, but nobody knows "
                     "whether by this release or by its expiry before it");
  }
  sweeper_->sweep_if_due();
  return !answer.rows.empty();
}

bool SqlLockStore::extend(const LockKey& key, OwnerToken owner, Ttl ttl) {
  const std::string key_text = sql::text_of(key);
  const std::string owner_text = sql::text_of(owner);
  const Answer answer = database_->run(
      Query::extend, std::array<Parameter, 3>{key_text, owner_text, ttl.milliseconds().count()});
  return !answer.rows.empty();
}

bool SqlLockStore::is_held_by(const LockKey& key, OwnerToken owner) {
  const auto lease = find(*database_, key);
  return lease && (*lease)[0] == sql::text_of(owner);
}

bool SqlLockStore::is_locked(const LockKey& key) {
  return find(*database_, key).has_value();
}

std::optional<std::chrono::milliseconds> SqlLockStore::remaining_time(const LockKey& key) {
  const auto lease = find(*database_, key);
  if (!lease) return std::nullopt;
  return sql::time_left((*lease)[1]);
}

// A look at the holder costs the database no lock, so a waiter tries only when the key was free, or is said
// to be.
std::optional<Grant> SqlLockStore::acquire_within(const LockKey& key, OwnerToken owner, Ttl ttl,
                                                  const WaitOptions& options) {
  const sys::TimePoint deadline = sys::deadline_after(options.timeout.nanoseconds());
  const auto delay = std::max(options.retry_delay.nanoseconds(), kShortestDelay);
  if (auto grant = acquire(key, owner, ttl)) return grant;
  // Listens before it looks, so that no release in between is missed.
  const auto ear = database_->listen(sql::text_of(key));
  auto woken = sql::Ear::Woken::by_time;
  for (;;) {
    // Looked at before the attempt: after the last sleep there is one more.
    const bool last_look = sys::Clock::now() >= deadline;
    const bool is_news = woken == sql::Ear::Woken::by_news;
    auto left = is_news ? std::nullopt : remaining_time(key);
    if (!left) {
      if (auto grant = acquire(key, owner, ttl)) return grant;
      if (is_news) left = remaining_time(key);
    }
    if (last_look) return std::nullopt;
    // Rows hold whole milliseconds: when what is left of one has passed, the lease is over.
    const std::chrono::nanoseconds until_expiry =
        left ? *left + std::chrono::milliseconds(1) : std::chrono::nanoseconds(kShortestDelay);
    const auto sleep = std::min(jittered(delay), until_expiry);
    woken = ear->sleep_until(std::min(deadline, sys::deadline_after(sleep)), options.stop);
    if (woken == sql::Ear::Woken::by_stop) return std::nullopt;
  }
}

std::size_t SqlLockStore::remove_expired() {
  return sweeper_->sweep_all();
}

}  // namespace mortise
