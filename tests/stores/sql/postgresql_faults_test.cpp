// What goes wrong with a server and on the way to it: each ends within its time in a grant, a clean false, or
// a StoreError that says what happened.
#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "mortise/mortise.hpp"
#include "mortise/sql_lock_store.hpp"
#include "stores/sql/cutting_proxy.hpp"
#include "stores/sql/postgresql_test.hpp"
#include "support/child_outcomes.hpp"
#include "support/child_process.hpp"
#include "support/eventually.hpp"
#include "support/stopwatch.hpp"

namespace mortise {
namespace {

using namespace std::chrono_literals;
using test::Channel;
using test::ChildProcess;
using test::CuttingProxy;
using test::IsWithin;
using test::kSlack;
using test::outcome_of;
using test::PostgresqlStore;
using test::Stopwatch;

TEST_F(PostgresqlStore, TableIsThePlainOneAndRowsAreReadable) {
  Lock held = handle(url(), "invoice:42");
  ASSERT_TRUE(held.acquire_immediately());
  EXPECT_EQ(execute("SELECT key FROM " + table()), "invoice:42");
  EXPECT_EQ(execute("SELECT expires_at / 1000 BETWEEN extract(epoch FROM now()) + 15 AND extract(epoch FROM "
                    "now()) + 21 FROM " +
                    table()),
            "t");
  EXPECT_TRUE(held.release());
  EXPECT_EQ(execute("SELECT count(*) FROM " + table()), "0");
}

TEST_F(PostgresqlStore, C22_ServerThatIsNotThereIsReportedInTime) {
  const test::TemporaryDirectory nowhere;
  const Stopwatch watch;
  EXPECT_EQ(
      outcome_of([&] {
        open_store("postgresql://postgres@/postgres?host=" + nowhere.path().string() + "&timeout=300ms");
      }),
      "server out of reach");
  EXPECT_THAT(watch.elapsed(), IsWithin(300ms, 300ms + kSlack));
}

TEST_F(PostgresqlStore, C22_ServerThatStopsIsReportedInTimeAndUsedAgainWhenItIsBack) {
  Lock held = handle(url(), "held", 60s);
  ASSERT_TRUE(held.acquire_immediately());
  Lock impatient = handle(impatient_url(), "k");
  server().stop(SIGINT);
  const Stopwatch watch;
  EXPECT_EQ(outcome_of([&] { std::ignore = impatient.acquire_immediately(); }), "server out of reach");
  EXPECT_THAT(watch.elapsed(), IsWithin(0s, 400ms + kSlack));
  std::jthread asking([&] {
    EXPECT_FALSE(handle(url(), "held").acquire_immediately()) << "asked while it was down, answered after";
  });
  std::this_thread::sleep_for(300ms);
  server().start();  // by this thread, with which it dies
  asking.join();
  EXPECT_TRUE(impatient.acquire_immediately());
  EXPECT_TRUE(held.release());
}

TEST_F(PostgresqlStore, C12_TerminatedConnectionIsMadeAnew) {
  Lock lock = handle(url(), "k");
  for (int i = 0; i < 5; ++i) {
    terminate_all_backends();
    ASSERT_TRUE(lock.acquire_immediately());
    terminate_all_backends();
    lock.extend();
    terminate_all_backends();
    EXPECT_FALSE(lock.is_expired());
    ASSERT_TRUE(lock.release());
  }
}

TEST_F(PostgresqlStore, C14_WaiterWhoseConnectionsAreTerminatedIsGranted) {
  Lock holder = handle(url(), "k");
  ASSERT_TRUE(holder.acquire_immediately());
  const std::jthread releasing([&] {
    std::this_thread::sleep_for(100ms);
    terminate_all_backends();
    std::this_thread::sleep_for(100ms);
    EXPECT_TRUE(holder.release());
  });
  EXPECT_TRUE(handle(url(), "k").acquire({.timeout = 20s, .retry_delay = 1s}));
}

TEST_F(PostgresqlStore, C23_AcquireIsCutBeforeAndAfterItHappened) {
  const test::TemporaryDirectory place;
  CuttingProxy proxy(place.path(), server().directory().path());
  const std::string through_proxy = "postgresql://postgres@/postgres?host=" + place.path().string() + "&" +
                                    of_this_table() + "&timeout=20s";
  const auto store = open_store(through_proxy);
  for (const auto cut : {CuttingProxy::Mode::cut_requests, CuttingProxy::Mode::cut_answers}) {
    Lock lock(LockKey("k"), 20s, store);
    ASSERT_TRUE(lock.acquire_immediately()) << "prepares what it needs";
    ASSERT_TRUE(lock.release());
    proxy.set(cut);
    ASSERT_TRUE(lock.acquire_immediately());
    EXPECT_FALSE(handle(url(), "k").acquire_immediately());
    proxy.set(cut);
    lock.extend(30s);
    EXPECT_FALSE(lock.is_expired());
    ASSERT_TRUE(lock.release());
    EXPECT_FALSE(lock.is_locked());
    // Of a key that somebody holds.
    Lock other = handle(url(), "k");
    ASSERT_TRUE(other.acquire_immediately());
    proxy.set(cut);
    EXPECT_FALSE(lock.acquire_immediately());
    ASSERT_TRUE(other.release());
  }
}

TEST_F(PostgresqlStore, C23_ReleaseWhoseAnswerIsLostIsReported) {
  const test::TemporaryDirectory place;
  CuttingProxy proxy(place.path(), server().directory().path());
  const auto store = open_store("postgresql://postgres@/postgres?host=" + place.path().string() + "&" +
                                of_this_table() + "&timeout=20s");
  Lock lock(LockKey("k"), 20s, store);
  ASSERT_TRUE(lock.acquire_immediately());
  ASSERT_TRUE(lock.release());
  ASSERT_TRUE(lock.acquire_immediately());
  proxy.set(CuttingProxy::Mode::cut_answers);
  EXPECT_EQ(outcome_of([&] { lock.release(); }), "server out of reach");
  EXPECT_FALSE(lock.is_locked());
  ASSERT_TRUE(lock.acquire_immediately());
  proxy.set(CuttingProxy::Mode::cut_requests);
  EXPECT_TRUE(lock.release());
}

TEST_F(PostgresqlStore, C22_NetworkThatSwallowsEverythingIsReportedInTime) {
  const test::TemporaryDirectory place;
  CuttingProxy proxy(place.path(), server().directory().path());
  const auto store = open_store("postgresql://postgres@/postgres?host=" + place.path().string() + "&" +
                                of_this_table() + "&timeout=400ms");
  Lock lock(LockKey("k"), 20s, store);
  proxy.set(CuttingProxy::Mode::swallow);
  const Stopwatch watch;
  EXPECT_EQ(outcome_of([&] { std::ignore = lock.acquire_immediately(); }), "server out of reach");
  EXPECT_THAT(watch.elapsed(), IsWithin(400ms, 400ms + kSlack));
  proxy.set(CuttingProxy::Mode::forward);
  EXPECT_TRUE(lock.acquire_immediately());
}

TEST_F(PostgresqlStore, C22_StoppedServerIsReportedInTime) {
  Lock lock = handle(impatient_url(), "k");
  server().freeze();
  const Stopwatch watch;
  EXPECT_EQ(outcome_of([&] { std::ignore = lock.is_locked(); }), "server out of reach");
  EXPECT_THAT(watch.elapsed(), IsWithin(400ms, 400ms + kSlack));
  server().thaw();
  EXPECT_TRUE(lock.acquire_immediately());
}

TEST_F(PostgresqlStore, C22_StatementTimeoutOfTheServerIsReported) {
  const auto store = open_store(url("&options=-c%20statement_timeout%3D100"));
  std::atomic<bool> is_over = false;
  std::jthread blocking([&] {
    execute("BEGIN; LOCK TABLE " + table() + "; SELECT pg_sleep(1); COMMIT");
    is_over = true;
  });
  ASSERT_TRUE(test::eventually([] {
    return execute("SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted") != "0";
  }));
  EXPECT_EQ(outcome_of([&] { std::ignore = Lock("k", 20s, store).acquire_immediately(); }),
            "refused by the server");
  EXPECT_FALSE(is_over);
  blocking.join();
  EXPECT_TRUE(Lock("k", 20s, store).acquire_immediately());
}

TEST_F(PostgresqlStore, C22_ReadOnlyServerIsReportedAndUsedAgainWhenItIsPrimary) {
  Lock lock = handle(impatient_url(), "k");
  set("default_transaction_read_only = on");
  terminate_all_backends();
  EXPECT_EQ(outcome_of([&] { std::ignore = lock.acquire_immediately(); }), "refused by the server");
  EXPECT_FALSE(lock.is_locked());
  reset_settings();
  EXPECT_TRUE(lock.acquire_immediately());
}

TEST_F(PostgresqlStore, C22_MissingRightsAreReported) {
  const auto owner = open_store(url());
  execute("DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN; GRANT SELECT ON " + table() +
          " TO reader; GRANT SELECT ON " + table() + "_fences TO reader");
  Lock lock = handle(server().url(of_this_table(), "reader"), "k");
  EXPECT_FALSE(lock.is_locked());
  EXPECT_EQ(outcome_of([&] { std::ignore = lock.acquire_immediately(); }), "permission denied");
  EXPECT_EQ(outcome_of([&] { open_store(server().url("table=none_of_it", "reader")); }), "permission denied");
  EXPECT_EQ(outcome_of([&] { open_store(server().url("table=x", "nobody_at_all")); }), "permission denied");
}

TEST_F(PostgresqlStore, C22_NothingIsMadeWhenThatIsForbidden) {
  EXPECT_EQ(outcome_of([&] { open_store(url("&create=0")); }), "incompatible segment");
  EXPECT_EQ(execute("SELECT to_regclass('" + table() + "') IS NULL"), "t");
}

TEST_F(PostgresqlStore, C22_TableWithOtherColumnsIsRefused) {
  execute("CREATE TABLE " + table() + " (name text PRIMARY KEY, holder text, until bigint)");
  EXPECT_EQ(outcome_of([&] { open_store(url()); }), "incompatible segment");
  EXPECT_TRUE(
      handle(url("&key_column=name&owner_column=holder&expires_column=until"), "k").acquire_immediately());
  execute("ALTER TABLE " + table() + " ALTER until TYPE numeric");
  EXPECT_EQ(outcome_of([&] { open_store(url("&key_column=name&owner_column=holder&expires_column=until")); }),
            "incompatible segment");
}

TEST_F(PostgresqlStore, C22_TableThatIsDroppedIsReported) {
  Lock lock = handle(url(), "k");
  ASSERT_TRUE(lock.acquire_immediately());
  execute("DROP TABLE " + table());
  EXPECT_EQ(outcome_of([&] { lock.release(); }), "incompatible segment");
}

TEST_F(PostgresqlStore, C22_KeyThatIsTooLongForTheColumnIsReported) {
  execute("CREATE TABLE " + table() +
          " (key varchar(255) PRIMARY KEY, owner varchar(255) NOT NULL, expires_at bigint)");
  Lock lock = handle(url(), LockKey(std::string(256, 'k')));
  EXPECT_EQ(outcome_of([&] { std::ignore = lock.acquire_immediately(); }), "incompatible segment");
  EXPECT_TRUE(handle(url(), LockKey(std::string(255, 'k'))).acquire_immediately());
}

TEST_F(PostgresqlStore, C18_E2_TableThatFoldsKeysIsRefused) {
  try {
    execute(
        "CREATE COLLATION IF NOT EXISTS folding (provider = icu, locale = 'und-u-ks-level2', deterministic = "
        "false)");
  } catch (const std::runtime_error&) {
    GTEST_SKIP() << "this PostgreSQL has no ICU";
  }
  execute("CREATE TABLE " + table() +
          " (key text COLLATE folding PRIMARY KEY, owner text, expires_at bigint)");
  EXPECT_EQ(outcome_of([&] { open_store(url()); }), "incompatible segment");
}

TEST_F(PostgresqlStore, C18_E2_KeysAreComparedByteByByteInSomebodyElsesTable) {
  execute("CREATE TABLE " + table() +
          " (key varchar(255) PRIMARY KEY, owner varchar(255) NOT NULL, expires_at bigint)");
  const std::string keys[] = {"Job:A",      "job:a",       "job:a ", " job:a",
                              "job:\u00e4", "job:a\u0308", "JOB:A",  "job:a\t"};
  const auto store = open_store(url());
  std::vector<Lock> held;
  for (const std::string& key : keys) {
    held.emplace_back(LockKey(key), 20s, store);
    EXPECT_TRUE(held.back().acquire_immediately()) << key;
  }
  ASSERT_TRUE(held[1].release());
  for (std::size_t i = 0; i < held.size(); ++i)
    EXPECT_EQ(Lock(LockKey(keys[i]), 20s, store).acquire_immediately(), i == 1) << keys[i];
}

TEST_F(PostgresqlStore, C08_F7_ExtensionThatChangesNothingIsNoLoss) {
  Lock lock = handle(url(), "k", 60s);
  ASSERT_TRUE(lock.acquire_immediately());
  for (int i = 0; i < 1000; ++i) lock.extend(60s);
  EXPECT_TRUE(lock.release());
}

TEST_F(PostgresqlStore, C03_FencingNumbersNeverFall) {
  std::uint64_t last = 0;
  for (const std::string& harm :
       {std::string("SELECT 1"), "DROP TABLE " + table(), "DROP SEQUENCE " + table() + "_fences",
        "DROP TABLE " + table() + "; DROP SEQUENCE " + table() + "_fences"}) {
    Lock lock = handle(url(), "k");
    ASSERT_TRUE(lock.acquire_immediately());
    EXPECT_GT(lock.fencing_token(), last);
    last = lock.fencing_token();
    ASSERT_TRUE(lock.release());
    execute(harm);
  }
}

TEST_F(PostgresqlStore, C25_RowsOfOtherProgramsCount) {
  Lock lock = handle(url(), "k");
  execute("INSERT INTO " + table() + " VALUES ('k', 'somebody', extract(epoch FROM now()) * 1000 + 20000)");
  EXPECT_FALSE(lock.acquire_immediately());
  execute("UPDATE " + table() + " SET expires_at = NULL");
  EXPECT_FALSE(lock.acquire_immediately()) << "a lease that never expires";
  EXPECT_GT(lock.remaining_time(), 24h);
  execute("UPDATE " + table() + " SET expires_at = 1");
  EXPECT_TRUE(lock.acquire_immediately());
  EXPECT_TRUE(lock.release());
}

TEST_F(PostgresqlStore, I6_StatementsGoByThePrimaryKey) {
  const auto store = open_store(url());
  execute("INSERT INTO " + table() +
          " SELECT 'gone ' || i, 'x', 1 FROM generate_series(1, 20000) AS i; ANALYZE " + table());
  for (const char* statement :
       {"SELECT owner FROM @ WHERE key = 'k' AND (expires_at > 1 OR expires_at IS NULL)",
        "DELETE FROM @ WHERE key = 'k' AND owner = 'o' AND expires_at > 1",
        "UPDATE @ SET expires_at = 2 WHERE key = 'k' AND owner = 'o' AND expires_at > 1",
        "SELECT key, expires_at FROM @ WHERE key > 'k' ORDER BY key LIMIT 256"}) {
    std::string text = statement;
    text.replace(text.find('@'), 1, table());
    const std::string plan = execute("EXPLAIN (FORMAT json) " + text);
    EXPECT_THAT(plan, testing::HasSubstr("Index Scan")) << statement;
    EXPECT_THAT(plan, testing::Not(testing::HasSubstr("Seq Scan"))) << statement;
  }
}

TEST_F(PostgresqlStore, I6_ExpiredRowsAreRemovedBitByBitAndAllAtOnce) {
  SqlLockStore store(url());
  const std::string make_rows =
      "INSERT INTO " + table() + " SELECT 'gone ' || i, 'x', 1 FROM generate_series(1, 5000) AS i";
  execute(make_rows);
  execute("INSERT INTO " + table() + " VALUES ('for ever', 'x', NULL)");
  EXPECT_EQ(store.remove_expired(), 5000U);
  execute(make_rows);
  while (execute("SELECT count(*) FROM " + table()) != "1") {
    const OwnerToken owner = OwnerToken::generate();
    ASSERT_TRUE(store.acquire("k", owner, 20s));
    ASSERT_TRUE(store.release("k", owner));
  }
}

TEST_F(PostgresqlStore, StatementsThatAreNotPreparedDoTheSame) {
  Lock lock = handle(url("&prepare=0"), "k");
  ASSERT_TRUE(lock.acquire_immediately());
  lock.extend();
  EXPECT_TRUE(lock.release());
}

// As a proxy does that lends another session to each transaction.
TEST_F(PostgresqlStore, PreparedStatementThatTheSessionDoesNotKnowIsNoFailure) {
  const auto store = open_store(url("&pool=1&application_name=forgetful"));
  Lock lock("k", 20s, store);
  ASSERT_TRUE(lock.acquire_immediately());
  ASSERT_TRUE(lock.release());
  // Only the session itself can forget them: the store's own connection is made to by an event of the table.
  execute(
      "CREATE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN DEALLOCATE ALL; RETURN NULL; "
      "END'");
  execute("CREATE TRIGGER forget AFTER INSERT ON " + table() + " EXECUTE FUNCTION forget()");
  ASSERT_TRUE(lock.acquire_immediately());
  lock.extend();
  ASSERT_TRUE(lock.release());
  ASSERT_TRUE(lock.acquire_immediately());
}

TEST_F(PostgresqlStore, ReleaseWakesAWaiterInAnotherProcess) {
  Lock holder = handle(url(), "k");
  ASSERT_TRUE(holder.acquire_immediately());
  ChildProcess waiter([&](Channel& test) {
    Lock lock = handle(url(), "k");
    test.send("waiting");
    test.send(lock.acquire({.timeout = 40s, .retry_delay = 40s}) ? "granted" : "refused");
  });
  ASSERT_EQ(waiter.receive(), "waiting");
  ASSERT_TRUE(test::eventually(
      [] { return execute("SELECT count(*) FROM pg_stat_activity WHERE query = 'LISTEN mortise'") != "0"; }));
  const Stopwatch watch;
  ASSERT_TRUE(holder.release());
  EXPECT_EQ(waiter.receive(), "granted");
  EXPECT_LT(watch.elapsed(), kSlack);
}

TEST_F(PostgresqlStore, ConnectionsOfAStoreAreLimitedAndShared) {
  const auto store = open_store(url("&pool=2&application_name=limited"));
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round)
        EXPECT_TRUE(Lock(LockKey("key " + std::to_string(i)), 20s, store).acquire_immediately());
    });
  }
  threads.clear();
  EXPECT_LE(std::stoi(execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'limited'")),
            2);
}

TEST_F(PostgresqlStore, UrlsThatMeanNothingAreRefused) {
  for (const char* bad : {"postgresql:locks", "postgresql://h/d?table=a.b.c", "postgresql://h/d?pool=0",
                          "postgresql://h/d?notify=2", "postgresql://h/d?no_such_option=1"})
    EXPECT_THROW(open_store(bad), std::invalid_argument) << bad;
}

TEST_F(PostgresqlStore, NoErrorTellsThePassword) {
  try {
    open_store("postgresql://somebody:se%63ret@/postgres?host=/nowhere&timeout=50ms");
    ADD_FAILURE() << "there is a server";
  } catch (const StoreError& error) {
    EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("ret@")));
    EXPECT_THAT(error.what(), testing::HasSubstr("***"));
  }
}

TEST_F(PostgresqlStore, ListingShowsLeasesOfAllPrograms) {
  Lock held = handle(url(), LockKey(std::string("\0\xff", 2)));
  ASSERT_TRUE(held.acquire_immediately());
  execute("INSERT INTO " + table() + " VALUES ('theirs', 'x', NULL), ('gone', 'x', 1), ('', 'x', NULL)");
  const auto view = open_view(url());
  const auto leases = view->leases();
  ASSERT_EQ(leases.size(), 2U);
  EXPECT_EQ(leases[0].key, LockKey(std::string("\0\xff", 2)));
  EXPECT_EQ(leases[1].key, LockKey("theirs"));
  EXPECT_TRUE(force_release(url(), "theirs"));
  EXPECT_FALSE(force_release(url(), "theirs"));
  EXPECT_TRUE(force_release(url(), held.key()));
  EXPECT_TRUE(held.is_expired());
}

}  // namespace
}  // namespace mortise
