// Looking at the leases on a server, and ending one by force.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "stores/redis/redis_test.hpp"

namespace mortise::test {
namespace {

class RedisView : public testing::Test {
 protected:
  [[nodiscard]] std::string url() const { return server.url("?prefix=%5Ba%2A%5D:"); }  // "[a*]:"
  [[nodiscard]] Lock handle(LockKey key, Ttl ttl = 20s) const {
    return mortise::lock(std::move(key), ttl, std::make_shared<RedisLockStore>(url()));
  }
  Watchdog watchdog;
  RedisServer server;
};

TEST_F(RedisView, ShowsEveryLeaseOfItsPrefixAndNothingElse) {
  EXPECT_TRUE(open_view(url())->leases().empty());
  Lock second = handle("b");
  Lock first = handle("a");
  Lock odd = handle(LockKey(std::string("\0{:mortise\n\xff", 12)));
  ASSERT_TRUE(second.acquire_immediately() && first.acquire_immediately() && odd.acquire_immediately());
  EXPECT_FALSE(handle("a").acquire({.timeout = 1ms}));
  server.cli({"SET", "a:x", "of another prefix", "PX", "20000"});
  server.cli({"SET", "[a*]:theirs", "of another program", "PX", "30000"});
  server.cli({"RPUSH", "[a*]:list", "no lease"});

  const auto view = open_view(url());
  const std::vector<LeaseInfo> leases = view->leases();
  ASSERT_EQ(leases.size(), 4U);
  EXPECT_EQ(leases[0].key, odd.key());
  EXPECT_EQ(leases[1].key, LockKey("a"));
  EXPECT_EQ(leases[1].fencing_token, first.fencing_token());
  EXPECT_THAT(leases[1].remaining, IsWithin(20s - 4 * kSlack, 20s));
  EXPECT_FALSE(leases[1].holder || leases[1].age || leases[1].sleepers) << "the server does not know";
  EXPECT_EQ(leases[2].key, LockKey("b"));
  EXPECT_EQ(leases[3].key, LockKey("theirs"));
  EXPECT_EQ(leases[3].fencing_token, std::nullopt);

  ASSERT_TRUE(view->lease("b"));
  EXPECT_EQ(view->lease("b")->fencing_token, second.fencing_token());
  EXPECT_FALSE(view->lease("c"));
}

TEST_F(RedisView, ForcedReleaseEndsTheLeaseAndWakesAWaiter) {
  Lock holder = handle("k");
  EXPECT_FALSE(force_release(url(), "k"));
  ASSERT_TRUE(holder.acquire_immediately());
  const std::jthread forcing([&] {
    std::this_thread::sleep_for(30ms);
    const auto ended = force_release(url(), "k");
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->fencing_token, holder.fencing_token());
  });
  EXPECT_TRUE(handle("k").acquire({.timeout = 20s, .retry_delay = 20s}));
  EXPECT_FALSE(holder.release());
  EXPECT_THROW(holder.extend(), LockNotHeldError);
}

TEST_F(RedisView, FailsAsAStoreDoes) {
  server.kill();
  EXPECT_EQ(code_of([&] { open_view(url()); }), StoreErrc::unreachable);
  EXPECT_EQ(code_of([&] { force_release(url(), "k"); }), StoreErrc::unreachable);
  EXPECT_THROW(open_view("redis:nowhere"), std::invalid_argument);
  EXPECT_EQ(code_of([&] { repair_store(url()); }), StoreErrc::unsupported);
}

// Among a great many keys of others, 200 leases are found in steps; no command holds up the server for as
// long as one that looks at everything does.
TEST_F(RedisView, I7_ListingIsDoneInStepsAmongManyForeignKeys) {
  constexpr int kForeign = 200'000;
  constexpr std::size_t kLeases = 200;
  server.cli({"EVAL",
              "for i = 1, " + std::to_string(kForeign) + " do redis.call('SET', 'foreign:' .. i, i) end",
              "0"});
  std::vector<Lock> locks;
  for (std::size_t i = 0; i < kLeases; ++i) {
    locks.push_back(handle(LockKey(std::to_string(i))));
    ASSERT_TRUE(locks.back().acquire_immediately());
  }
  server.cli({"CONFIG", "RESETSTAT"});
  EXPECT_EQ(open_view(url())->leases().size(), kLeases);

  const std::string commands = server.cli({"INFO", "commandstats"});
  EXPECT_THAT(commands, testing::Not(testing::HasSubstr("cmdstat_keys:")));
  const std::size_t scans = commands.find("cmdstat_scan:calls=");
  ASSERT_NE(scans, std::string::npos);
  EXPECT_GT(std::stoi(commands.substr(scans + 19)), kForeign / 1000)
      << "each step looks at some hundred keys";
}

}  // namespace
}  // namespace mortise::test
