// Leases in a table of an SQL database, for processes of several hosts (PostgreSQL) or of one (SQLite). The
// component is mortise::sql; a program that is linked with it opens these URLs by open_store(), too:
//
//   sqlite:/path/of/locks.db                              SQLite 3
//   postgresql://[user[:password]@][host][:port]/database  PostgreSQL; as libpq reads it, with its options
//     ?table=locks            or schema.table; made when it is missing, used as it is when it is there
//     &create=1               0: a database, or a table, that is missing is an error
//     &key_column=key         the columns that other programs use, too
//     &owner_column=owner
//     &expires_column=expires_at   milliseconds since 1970; NULL: never
//     &timeout=5s             for any operation as a whole, reconnecting and trying again included
//   and for PostgreSQL:
//     &connect_timeout=3s     for one attempt to connect
//     &pool=8                 connections of this process at most, but for the one that listens
//     &notify=1               0: releases wake no waiters, which look again after their retry_delay
//     &prepare=1              0: statements are not prepared
// Names are ASCII letters, digits and "_". In values and paths "%41" is "A".
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "mortise/lock_store.hpp"

namespace mortise {

namespace sql {
class Sweeper;
class Database;
}  // namespace sql

// One row for each lease: key, owner, expiry. Programs that keep to the same layout exclude this store, and
// it them. A lease ends at its release or expiry, never with its process.
//
// The time is the database server's; in SQLite it is the wall clock of the host, because that is what the
// rows of other programs hold (the exception to C25). Keys that are no UTF-8 text, or hold a NUL, are stored
// as "\x" and hexadecimal digits, and so are those that begin with "\x".
//
// Any thread may use it at any time. A forked child has connections of its own; SQLite's files are closed
// before a fork and opened anew at the next use, because SQLite itself does not survive one.
class SqlLockStore final : public LockStore {
 public:
  // Connects, and makes the table if need be. Throws std::invalid_argument for a URL that is wrong,
  // StoreError when the database cannot be used.
  explicit SqlLockStore(std::string_view url);
  ~SqlLockStore() override;

  // A StoreError after an acquire or a release means that it may have happened (C23): an acquired lease then
  // lasts until its expiry. What the connection was lost in the middle of is tried again for `timeout`.
  std::optional<Grant> acquire(const LockKey& key, OwnerToken owner, Ttl ttl) override;
  bool release(const LockKey& key, OwnerToken owner) override;
  bool extend(const LockKey& key, OwnerToken owner, Ttl ttl) override;
  bool is_held_by(const LockKey& key, OwnerToken owner) override;
  bool is_locked(const LockKey& key) override;
  std::optional<std::chrono::milliseconds> remaining_time(const LockKey& key) override;
  // Sleeps until the known expiry, a notification (PostgreSQL) or retry_delay, whichever comes first.
  std::optional<Grant> acquire_within(const LockKey& key, OwnerToken owner, Ttl ttl,
                                      const WaitOptions& options) override;

  // Removes the rows of all leases that have expired, in batches, and says how many. Not needed: what expires
  // is removed bit by bit while the store is used.
  std::size_t remove_expired();

 private:
  std::unique_ptr<sql::Database> database_;
  std::unique_ptr<sql::Sweeper> sweeper_;
};

}  // namespace mortise
