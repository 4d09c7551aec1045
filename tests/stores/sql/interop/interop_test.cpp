// Other programs on the same tables exclude us, and we them: @verrou/core with knex, sqlite3 and psql.
#include <functional>
#include <string>
#include <thread>

#include "mortise/mortise.hpp"
#include "stores/sql/interop/other_programs.hpp"
#include "stores/sql/shared_server.hpp"
#include "support/temporary_directory.hpp"
#include "support/watchdog.hpp"

namespace mortise {
namespace {

using namespace std::chrono_literals;
using test::Dialogue;
using test::output_of;
using test::SharedServer;

const auto* const kServer = SharedServer::add();

constexpr const char* kVerrouTable = "table=verrou&expires_column=expiration&timeout=20s";

class Interop : public testing::Test {
 private:
  test::Watchdog watchdog_;

 protected:
  test::TemporaryDirectory directory_;
};

void exclude_each_other(const std::string& url, const std::string& client, const std::string& place) {
  Dialogue verrou({"node", MORTISE_INTEROP_DIRECTORY "/verrou.mjs", client, place});
  ASSERT_EQ(verrou("locked k"), "false") << "and it has made its table";
  const auto store = open_store(url);
  Lock ours("k", 20s, store);

  ASSERT_TRUE(ours.acquire_immediately());
  EXPECT_EQ(verrou("acquire k 20000"), "false");
  EXPECT_EQ(verrou("locked k"), "true");
  EXPECT_TRUE(ours.release());
  EXPECT_EQ(verrou("acquire k 20000"), "true");
  EXPECT_FALSE(ours.acquire_immediately());
  EXPECT_TRUE(ours.is_locked());
  EXPECT_EQ(verrou("extend k 30000"), "true");
  EXPECT_GT(ours.remaining_time(), 20s);
  EXPECT_EQ(verrou("release k"), "true");
  EXPECT_TRUE(ours.acquire_immediately());

  // Each takes over what the other let expire.
  ours.extend(1ms);
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(verrou("acquire k 50"), "true");
  EXPECT_FALSE(ours.release());
  std::this_thread::sleep_for(100ms);
  EXPECT_TRUE(ours.acquire_immediately());
  EXPECT_NE(verrou("release k"), "true") << "it is not its own any more";
  EXPECT_FALSE(ours.is_expired());
}

TEST_F(Interop, VerrouOnSqlite) {
  const std::string file = directory_.file("locks.db");
  exclude_each_other("sqlite:" + file + "?" + kVerrouTable, "better-sqlite3", file);
}

TEST_F(Interop, VerrouOnPostgresql) {
  const auto& server = SharedServer::get();
  exclude_each_other(server.url(kVerrouTable), "pg", server.directory().path());
}

// With statements that anybody would write.
void exclude_plain_statements(const std::string& url, const std::string& now,
                              const std::function<std::string(const std::string&)>& run) {
  Lock ours("k", 20s, open_store(url));
  ASSERT_TRUE(ours.acquire_immediately());
  const std::string take =
      "INSERT INTO locks VALUES ('k', 'somebody', " + now +
      " + 20000) ON CONFLICT (key) DO UPDATE SET owner = 'somebody', expires_at = " + now +
      " + 20000 WHERE locks.expires_at <= " + now + " RETURNING owner";
  EXPECT_EQ(run(take), "");
  EXPECT_TRUE(ours.release());
  EXPECT_EQ(run(take), "somebody");
  EXPECT_FALSE(ours.acquire_immediately());
  EXPECT_EQ(run("DELETE FROM locks WHERE key = 'k' AND owner = 'somebody' RETURNING key"), "k");
  EXPECT_TRUE(ours.acquire_immediately());
  EXPECT_EQ(run("UPDATE locks SET expires_at = " + now + " - 1 WHERE key = 'k' RETURNING key"), "k");
  EXPECT_TRUE(ours.is_expired());
  EXPECT_EQ(run(take), "somebody");
  EXPECT_FALSE(ours.release());
}

TEST_F(Interop, SqliteProgram) {
  const std::string file = directory_.file("locks.db");
  exclude_plain_statements(
      "sqlite:" + file, "CAST(strftime('%s', 'now') AS INTEGER) * 1000", [&](const std::string& statement) {
        return output_of("sqlite3 -cmd '.timeout 20000' " + file + " \"" + statement + "\"");
      });
}

TEST_F(Interop, PsqlProgram) {
  const auto& server = SharedServer::get();
  exclude_plain_statements(server.url("table=locks"), "(extract(epoch FROM now()) * 1000)::bigint",
                           [&](const std::string& statement) {
                             return output_of("psql -qAtX -h " + server.directory().path().string() +
                                              " -U postgres -d postgres -c \"" + statement + "\"");
                           });
}

}  // namespace
}  // namespace mortise
