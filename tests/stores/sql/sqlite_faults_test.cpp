// What goes wrong with a file: each ends within its time in a grant, a clean false, or a StoreError that says
// what happened.
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "mortise/mortise.hpp"
#include "mortise/sql_lock_store.hpp"
#include "support/child_outcomes.hpp"
#include "support/child_process.hpp"
#include "support/stopwatch.hpp"
#include "support/temporary_directory.hpp"
#include "support/watchdog.hpp"

namespace mortise {
namespace {

using namespace std::chrono_literals;
using test::Channel;
using test::ChildProcess;
using test::IsWithin;
using test::kSlack;
using test::outcome_of;
using test::Stopwatch;

// Somebody else who works on the file.
class OtherProgram {
 public:
  explicit OtherProgram(const std::string& path) {
    EXPECT_EQ(sqlite3_open(path.c_str(), &connection_), SQLITE_OK);
    sqlite3_busy_timeout(connection_, 20'000);
  }
  OtherProgram(const OtherProgram&) = delete;
  OtherProgram& operator=(const OtherProgram&) = delete;
  ~OtherProgram() { sqlite3_close(connection_); }

  std::string plan(const std::string& statement) {
    sqlite3_stmt* explain = nullptr;
    EXPECT_EQ(
        sqlite3_prepare_v2(connection_, ("EXPLAIN QUERY PLAN " + statement).c_str(), -1, &explain, nullptr),
        SQLITE_OK);
    constexpr int kDetail = 3;
    std::string detail;
    while (sqlite3_step(explain) == SQLITE_ROW)
      detail = reinterpret_cast<const char*>(sqlite3_column_text(explain, kDetail));
    sqlite3_finalize(explain);
    return detail;
  }

  // Gives the first column of the last row.
  std::string operator()(const std::string& statement) {
    std::string value;
    const auto keep = [](void* to, int, char** values, char**) {
      *static_cast<std::string*>(to) = values[0] != nullptr ? values[0] : "NULL";
      return 0;
    };
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(connection_, statement.c_str(), keep, &value, &message), SQLITE_OK)
        << statement << ": " << message;
    return value;
  }

 private:
  sqlite3* connection_ = nullptr;
};

class SqliteStore : public testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return directory_.file("locks.db"); }
  [[nodiscard]] std::string url(const std::string& options = "") const {
    return "sqlite:" + path() + "?timeout=20s" + options;
  }
  [[nodiscard]] std::string impatient_url() const { return "sqlite:" + path() + "?timeout=200ms"; }
  [[nodiscard]] const test::TemporaryDirectory& directory() const { return directory_; }

 private:
  test::Watchdog watchdog_;
  test::TemporaryDirectory directory_;
};

Lock lock_in(const std::string& url, LockKey key, Ttl ttl = 20s) {
  return lock(std::move(key), ttl, open_store(url));
}

TEST_F(SqliteStore, TableIsThePlainOneAndRowsAreReadable) {
  Lock held = lock_in(url(), "invoice:42", 20s);
  ASSERT_TRUE(held.acquire_immediately());
  OtherProgram other(path());
  EXPECT_EQ(other("SELECT key FROM locks"), "invoice:42");
  EXPECT_EQ(
      other("SELECT expires_at BETWEEN (unixepoch() + 15) * 1000 AND (unixepoch() + 21) * 1000 FROM locks"),
      "1");
  EXPECT_EQ(other("PRAGMA journal_mode"), "wal");
  EXPECT_TRUE(held.release());
  EXPECT_EQ(other("SELECT count(*) FROM locks"), "0");
}

TEST_F(SqliteStore, C12_F10_WriterThatDoesNotEndIsAnErrorAndNotARefusal) {
  Lock lock = lock_in(impatient_url(), "k");
  OtherProgram other(path());
  other("BEGIN IMMEDIATE");
  const Stopwatch watch;
  EXPECT_EQ(outcome_of([&] { std::ignore = lock.acquire_immediately(); }), "stalled by another process");
  EXPECT_THAT(watch.elapsed(), IsWithin(200ms, 200ms + kSlack));
  EXPECT_FALSE(lock.is_locked()) << "who only looks needs no lock of the file";
  other("COMMIT");
  EXPECT_TRUE(lock.acquire_immediately());
}

// Each process has its own key, so every acquire is to be granted, whatever the others write.
void write_beside_a_slow_writer(const std::string& url, const std::string& path) {
  constexpr int kProcesses = 8;
  constexpr int kRounds = 100;
  std::vector<ChildProcess> workers;
  for (int i = 0; i < kProcesses; ++i) {
    workers.emplace_back([&, i](Channel&) {
      Lock mine = lock_in(url, LockKey("key " + std::to_string(i)));
      for (int round = 0; round < kRounds; ++round) {
        if (!mine.acquire_immediately()) throw std::runtime_error("a free key was refused");
        mine.extend();
        if (!mine.release()) throw std::runtime_error("a lease was lost");
      }
    });
  }
  OtherProgram slow(path);
  slow("CREATE TABLE IF NOT EXISTS others (x)");
  for (int i = 0; i < 5; ++i) {
    slow("BEGIN IMMEDIATE");
    slow("INSERT INTO others VALUES (1)");
    std::this_thread::sleep_for(100ms);
    slow("COMMIT");
    slow("VACUUM INTO '" + path + ".backup" + std::to_string(i) + "'");
  }
  for (ChildProcess& worker : workers) EXPECT_EQ(worker.wait(), 0);
}

TEST_F(SqliteStore, C12_F10_BusyFileWithAWriteAheadLogRefusesNobody) {
  const auto first = open_store(url());
  write_beside_a_slow_writer(url(), path());
}

TEST_F(SqliteStore, C12_F10_BusyFileWithARollbackJournalRefusesNobody) {
  OtherProgram{path()}("CREATE TABLE others (x)");  // so it is not the store's to choose the journal
  const auto first = open_store(url());
  EXPECT_EQ(OtherProgram{path()}("PRAGMA journal_mode"), "delete");
  write_beside_a_slow_writer(url(), path());
}

TEST_F(SqliteStore, C08_F7_ExtensionThatChangesNothingIsNoLoss) {
  Lock lock = lock_in(url(), "k", 60s);
  ASSERT_TRUE(lock.acquire_immediately());
  for (int i = 0; i < 1000; ++i) lock.extend(60s);
  EXPECT_TRUE(lock.release());
}

TEST_F(SqliteStore, C18_E2_TableThatFoldsKeysIsRefused) {
  OtherProgram{path()}(
      "CREATE TABLE locks (key TEXT PRIMARY KEY COLLATE NOCASE, owner TEXT, expires_at INTEGER)");
  EXPECT_EQ(outcome_of([&] { open_store(url()); }), "incompatible segment");
}

TEST_F(SqliteStore, C22_TableWithOtherColumnsIsRefused) {
  OtherProgram{path()}("CREATE TABLE locks (name TEXT PRIMARY KEY, holder TEXT, until INTEGER)");
  EXPECT_EQ(outcome_of([&] { open_store(url()); }), "incompatible segment");
  Lock lock = lock_in(url("&key_column=name&owner_column=holder&expires_column=until"), "k");
  EXPECT_TRUE(lock.acquire_immediately());
  EXPECT_EQ(OtherProgram{path()}("SELECT name FROM locks"), "k");
}

TEST_F(SqliteStore, C22_NothingIsMadeWhenThatIsForbidden) {
  EXPECT_EQ(outcome_of([&] { open_store(url("&create=0")); }), "cannot open the store");
  EXPECT_FALSE(std::filesystem::exists(path()));
  OtherProgram{path()}("CREATE TABLE others (x)");
  EXPECT_EQ(outcome_of([&] { open_store(url("&create=0")); }), "incompatible segment");
}

TEST_F(SqliteStore, C22_FileThatIsNoDatabaseIsLeftAsItIs) {
  const std::string text(5000, 'x');
  std::ofstream(path()) << text;
  EXPECT_EQ(outcome_of([&] { open_store(url()); }), "incompatible segment");
  EXPECT_EQ(std::filesystem::file_size(path()), text.size());
}

TEST_F(SqliteStore, C22_DamagedFileIsReported) {
  OtherProgram{path()}("PRAGMA page_size = 512; CREATE TABLE others (x); CREATE TABLE more (y)");
  {
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(100);
    file << std::string(400, '\x7f');
  }
  EXPECT_EQ(outcome_of([&] { open_store(url()); }), "corrupt segment");
}

TEST_F(SqliteStore, C22_MissingDirectoryIsReported) {
  EXPECT_EQ(outcome_of([&] { open_store("sqlite:" + directory().file("none/locks.db")); }),
            "cannot open the store");
}

TEST_F(SqliteStore, C22_FileThatMayNotBeWrittenIsReported) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  Lock held = lock_in(url(), "k");
  ASSERT_TRUE(held.acquire_immediately());
  chmod(directory().path().c_str(), 0755);
  ChildProcess stranger([&](Channel& test) {
    if (setuid(65534) != 0) _exit(1);
    test.send(outcome_of([&] { std::ignore = lock_in(url(), "k").acquire_immediately(); }));
  });
  EXPECT_EQ(stranger.receive(), "permission denied");
  EXPECT_TRUE(held.release());
}

TEST_F(SqliteStore, C22_FullDiskIsReportedAndHarmsNoLease) {
  ChildProcess host([&](Channel& test) {
    if (!test::has_private_mounts() ||
        mount("none", directory().path().c_str(), "tmpfs", 0, "size=256k") != 0)
      return test.send("no tmpfs");
    Lock held = lock_in(url(), "held", 60s);
    if (!held.acquire_immediately()) return test.send("refused");
    std::ofstream filler(directory().file("filler"));
    filler << std::string(1 << 20, 'x') << std::flush;
    std::string outcome;
    for (int i = 0; i < 2000 && (outcome.empty() || outcome == "no error"); ++i) {
      outcome = outcome_of([&] {
        Lock next = lock_in(url(), LockKey(std::string(1000, 'k') + std::to_string(i)));
        std::ignore = next.acquire_immediately() && next.detach();
      });
    }
    test.send(outcome);
    filler.close();
    std::filesystem::remove(directory().file("filler"));
    test.send(held.is_expired() ? "lost" : "held");
    test.send(lock_in(url(), "another").acquire_immediately() ? "goes on" : "refused");
  });
  const std::string outcome = host.receive();
  if (outcome == "no tmpfs") GTEST_SKIP() << "this user may not mount a tmpfs";
  EXPECT_EQ(outcome, "no space");
  EXPECT_EQ(host.receive(), "held");
  EXPECT_EQ(host.receive(), "goes on");
}

TEST_F(SqliteStore, C09_FileThatIsRemovedIsMadeAnewAndItsLeasesAreLost) {
  Lock held = lock_in(url(), "k");
  ASSERT_TRUE(held.acquire_immediately());
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path() + suffix);
  EXPECT_TRUE(held.is_expired());
  EXPECT_TRUE(lock_in(url(), "k").acquire_immediately());
}

TEST_F(SqliteStore, C03_FencingNumbersNeverFall) {
  std::uint64_t last = 0;
  for (const char* harm :
       {"SELECT 1", "DROP TABLE locks", "DROP TABLE locks_fences", "DELETE FROM locks_fences",
        "UPDATE locks_fences SET last = last + 1000000000000"}) {
    Lock lock = lock_in(url(), "k");
    ASSERT_TRUE(lock.acquire_immediately());
    EXPECT_GT(lock.fencing_token(), last);
    last = lock.fencing_token();
    ASSERT_TRUE(lock.release());
    OtherProgram{path()}(harm);
  }
}

TEST_F(SqliteStore, C25_RowsOfOtherProgramsCount) {
  OtherProgram other(path());
  Lock lock = lock_in(url(), "k");
  other("INSERT INTO locks VALUES ('k', 'somebody', (unixepoch() + 20) * 1000)");
  EXPECT_FALSE(lock.acquire_immediately());
  EXPECT_TRUE(lock.is_locked());
  other("UPDATE locks SET expires_at = NULL");
  EXPECT_FALSE(lock.acquire_immediately()) << "a lease that never expires";
  EXPECT_GT(lock.remaining_time(), 24h);
  other("UPDATE locks SET expires_at = (unixepoch() - 1) * 1000");
  EXPECT_TRUE(lock.acquire_immediately());
  EXPECT_EQ(other("UPDATE locks SET owner = 'thief' WHERE expires_at <= unixepoch() * 1000 RETURNING key"),
            "");
  EXPECT_TRUE(lock.release());
}

TEST_F(SqliteStore, I6_ExpiredRowsAreRemovedBitByBitAndAllAtOnce) {
  SqlLockStore store(url());
  OtherProgram other(path());
  const std::string make_rows =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
      "INSERT INTO locks SELECT 'gone ' || i, 'x', 1 FROM n";
  other(make_rows);
  other("INSERT INTO locks VALUES ('for ever', 'x', NULL), ('live', 'x', (unixepoch() + 100) * 1000)");
  EXPECT_EQ(store.remove_expired(), 20000U);
  EXPECT_EQ(other("SELECT count(*) FROM locks"), "2");
  other(make_rows);
  while (other("SELECT count(*) FROM locks") != "2") {
    const OwnerToken owner = OwnerToken::generate();
    ASSERT_TRUE(store.acquire("k", owner, 20s));
    ASSERT_TRUE(store.release("k", owner));
  }
}

// The plan's last line says how the table is read.
TEST_F(SqliteStore, I6_StatementsGoByThePrimaryKey) {
  SqlLockStore store(url());
  OtherProgram other(path());
  for (const char* statement :
       {"SELECT owner FROM locks WHERE key = 'k' AND (expires_at > 1 OR expires_at IS NULL)",
        "DELETE FROM locks WHERE key = 'k' AND owner = 'o' AND expires_at > 1",
        "UPDATE locks SET expires_at = 2 WHERE key = 'k' AND owner = 'o' AND expires_at > 1",
        "SELECT key, expires_at FROM locks WHERE key > 'k' ORDER BY key LIMIT 256",
        "DELETE FROM locks WHERE key > 'k' AND key <= 'l' AND expires_at <= 1"})
    EXPECT_THAT(other.plan(statement), testing::StartsWith("SEARCH locks USING INDEX")) << statement;
}

TEST_F(SqliteStore, UrlsThatMeanNothingAreRefused) {
  for (const char* url :
       {"sqlite:", "sqlite::memory:", "sqlite:/x?table=a.b", "sqlite:/x?table=", "sqlite:/x?table=a-b",
        "sqlite:/x?table=a;drop", "sqlite:/x?create=yes", "sqlite:/x?timeout=0s", "sqlite:/x?pool=3"})
    EXPECT_THROW(open_store(url), std::invalid_argument) << url;
}

TEST_F(SqliteStore, ListingShowsLeasesOfAllPrograms) {
  Lock held = lock_in(url(), LockKey(std::string("\0\xff", 2)), 20s);
  ASSERT_TRUE(held.acquire_immediately());
  OtherProgram other(path());
  other("INSERT INTO locks VALUES ('theirs', 'x', NULL), ('gone', 'x', 1), ('', 'x', NULL)");
  const auto view = open_view(url());
  const auto leases = view->leases();
  ASSERT_EQ(leases.size(), 2U);
  EXPECT_EQ(leases[0].key, LockKey(std::string("\0\xff", 2)));
  EXPECT_THAT(leases[0].remaining, IsWithin(20s - kSlack, 20s));
  EXPECT_EQ(leases[1].key, LockKey("theirs"));
  EXPECT_FALSE(view->lease("gone"));
  EXPECT_TRUE(view->lease("theirs"));
  EXPECT_TRUE(force_release(url(), "theirs"));
  EXPECT_FALSE(force_release(url(), "theirs"));
  EXPECT_TRUE(force_release(url(), held.key()));
  EXPECT_TRUE(held.is_expired());
}

}  // namespace
}  // namespace mortise
