// A primary and its standby.
#include <signal.h>

#include <cstdint>
#include <string>
#include <utility>

#include "mortise/mortise.hpp"
#include "stores/sql/postgresql_test.hpp"
#include "support/child_outcomes.hpp"
#include "support/eventually.hpp"

namespace mortise {
namespace {

using namespace std::chrono_literals;
using test::outcome_of;
using test::PostgresqlServer;

class PostgresqlFailover : public test::PostgresqlStore {
 protected:
  // At first as far as the primary is.
  PostgresqlFailover() : standby_(PostgresqlServer::standby_of(server())) {}
  ~PostgresqlFailover() override {
    if (!primary_is_gone_) return;
    server().start();
  }

  PostgresqlServer& standby() { return standby_; }
  [[nodiscard]] bool has_come_over(const std::string& key) const {
    return standby_.execute("SELECT to_regclass('" + table() + "') IS NOT NULL") == "t" &&
           standby_.execute("SELECT count(*) FROM " + table() + " WHERE key = '" + key + "'") == "1";
  }
  // The hosts of both, as libpq takes them: it goes to the one that can be written.
  [[nodiscard]] std::string url_of_both(const std::string& timeout) const {
    return "postgresql://postgres@/postgres?host=" + server().directory().path().string() + "," +
           standby_.directory().path().string() + "&target_session_attrs=read-write&" + of_this_table() +
           "&timeout=" + timeout;
  }
  void stop_primary() {
    server().stop(SIGQUIT);
    primary_is_gone_ = true;
  }

 private:
  PostgresqlServer standby_;
  bool primary_is_gone_ = false;
};

TEST_F(PostgresqlFailover, C22_StandbyIsReadAndReportedWhenItShouldBeWritten) {
  Lock held = handle(url(), "held");
  ASSERT_TRUE(held.acquire_immediately());
  ASSERT_TRUE(test::eventually([&] { return has_come_over("held"); }, 30s));
  Lock theirs = handle(standby().url(of_this_table() + "&timeout=400ms"), "held");
  EXPECT_TRUE(theirs.is_locked());
  EXPECT_EQ(outcome_of([&] { std::ignore = theirs.acquire_immediately(); }), "refused by the server");
  EXPECT_TRUE(held.release());
}

TEST_F(PostgresqlFailover, C12_LeasesOutliveThePrimary) {
  Lock held = handle(url_of_both("30s"), "held", 10min);
  ASSERT_TRUE(held.acquire_immediately());
  const std::uint64_t fence = held.fencing_token();
  ASSERT_TRUE(test::eventually([&] { return has_come_over("held"); }, 30s));
  stop_primary();
  EXPECT_EQ(outcome_of([&] { std::ignore = handle(url_of_both("400ms"), "other").acquire_immediately(); }),
            "server out of reach");
  standby().execute("SELECT pg_promote()");

  EXPECT_FALSE(held.is_expired());
  Lock theirs = handle(url_of_both("30s"), "held");
  EXPECT_FALSE(theirs.acquire_immediately());
  EXPECT_TRUE(held.release());
  ASSERT_TRUE(theirs.acquire_immediately());
  EXPECT_GT(theirs.fencing_token(), fence);
}

}  // namespace
}  // namespace mortise
