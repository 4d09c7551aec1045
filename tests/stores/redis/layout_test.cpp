// What is on the server: the plain layout that others share, and what lies beside it.
#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "store/redis/key_names.hpp"
#include "store/redis/options.hpp"
#include "store/redis/sha1.hpp"
#include "stores/redis/redis_test.hpp"
#include "support/child_process.hpp"

namespace mortise::test {
namespace {

using store::redis::key_of_lease;
using store::redis::names_of;
using store::redis::parse_url;
using store::redis::slot_of;
using testing::HasSubstr;
using testing::ThrowsMessage;

class RedisLayout : public testing::Test {
 protected:
  Lock handle(const char* key, Ttl ttl = 20s) {
    return mortise::lock(key, ttl, std::make_shared<RedisLockStore>(server.url()));
  }
  Watchdog watchdog;
  RedisServer server;
};

TEST_F(RedisLayout, LeaseIsAStringWithAnExpiry) {
  Lock lock = handle("k");
  ASSERT_TRUE(lock.acquire_immediately());
  EXPECT_THAT(server.cli({"GET", "mortise:k"}), testing::MatchesRegex("[0-9a-f]{16}"));
  EXPECT_THAT(std::stoi(server.cli({"PTTL", "mortise:k"})),
              testing::AllOf(testing::Gt(0), testing::Le(20000)));
  EXPECT_TRUE(lock.release());
  EXPECT_EQ(server.cli({"EXISTS", "mortise:k"}), "0");
}

TEST_F(RedisLayout, PlainSetExcludesAndIsExcluded) {
  EXPECT_EQ(server.cli({"SET", "mortise:k", "theirs", "PX", "20000", "NX"}), "OK");
  Lock lock = handle("k");
  EXPECT_FALSE(lock.acquire_immediately());
  server.cli({"DEL", "mortise:k"});
  ASSERT_TRUE(lock.acquire_immediately());
  EXPECT_EQ(server.cli({"SET", "mortise:k", "theirs", "PX", "20000", "NX"}), "");
  EXPECT_TRUE(lock.release());
}

TEST_F(RedisLayout, LeaseOfOthersWithoutAnExpiryIsHeldForEver) {
  server.cli({"SET", "mortise:k", "theirs"});
  Lock lock = handle("k");
  EXPECT_FALSE(lock.acquire({.timeout = 10ms}));
  EXPECT_TRUE(lock.is_locked());
  EXPECT_EQ(lock.remaining_time(), Ttl::kMax);
}

// C15: what others release, nobody is told of; a waiter looks by itself.
TEST_F(RedisLayout, C15_SilentReleaseCostsNoMoreThanARetryDelay) {
  server.cli({"SET", "mortise:k", "theirs", "PX", "60000"});
  const std::jthread releasing([&] {
    std::this_thread::sleep_for(50ms);
    server.cli({"DEL", "mortise:k"});
  });
  const Stopwatch watch;
  EXPECT_TRUE(handle("k").acquire({.timeout = 30s, .retry_delay = 100ms}));
  EXPECT_LT(watch.elapsed(), 150ms + 2 * kSlack);
}

TEST_F(RedisLayout, C03_FencingNumberNeverFallsWhateverTheServerForgets) {
  std::uint64_t last = 0;
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j < 3; ++j) {
      Lock lock = handle("k");
      ASSERT_TRUE(lock.acquire_immediately());
      EXPECT_GT(lock.fencing_token(), last);
      last = lock.fencing_token();
    }
    server.cli({"FLUSHALL"});
  }
}

TEST_F(RedisLayout, NothingIsLeftForEver) {
  Lock lock = handle("k");
  ASSERT_TRUE(lock.acquire_immediately());
  EXPECT_FALSE(handle("k").acquire({.timeout = 1ms}));
  EXPECT_TRUE(lock.release());
  server.cli({"SET", "mortise:theirs", "x"});
  EXPECT_FALSE(handle("theirs").acquire({.timeout = 1ms}));
  server.cli({"DEL", "mortise:theirs"});
  std::string keys = server.cli({"KEYS", "*"}) + '\n';
  while (!keys.empty()) {
    const std::string key = keys.substr(0, keys.find('\n'));
    keys.erase(0, key.size() + 1);
    EXPECT_GT(std::stoll(server.cli({"PTTL", key})), 0) << key;
  }
}

TEST_F(RedisLayout, ConnectionsSayWhoseTheyAre) {
  Lock lock = handle("k");
  ASSERT_TRUE(lock.acquire_immediately());
  EXPECT_THAT(server.cli({"CLIENT", "LIST"}), HasSubstr("name=mortise-" + std::to_string(getpid())));
}

TEST_F(RedisLayout, C17_ForkedChildHasConnectionsOfItsOwn) {
  const auto store = std::make_shared<RedisLockStore>(server.url());
  Lock lock = mortise::lock("k", 20s, store);
  ASSERT_TRUE(lock.acquire_immediately());
  ChildProcess child([&](Channel& test) {
    Lock mine = mortise::lock("child's", 20s, store);
    test.send(mine.acquire_immediately() ? "granted" : "refused");
    std::ignore = test.receive();
  });
  EXPECT_EQ(child.receive(), "granted");
  const std::string clients = server.cli({"CLIENT", "LIST"});
  EXPECT_THAT(clients, HasSubstr("name=mortise-" + std::to_string(getpid())));
  EXPECT_THAT(clients, HasSubstr("name=mortise-" + std::to_string(child.pid())));
  child.kill();
  EXPECT_TRUE(lock.release());
}

TEST_F(RedisLayout, ManyThreadsShareTheConnectionsOfOneStore) {
  constexpr int kThreads = 64;
  const auto store = std::make_shared<RedisLockStore>(server.url());
  std::atomic<int> granted = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        for (int round = 0; round < 20; ++round) {
          Lock lock = mortise::lock(LockKey("own " + std::to_string(i)), 20s, store);
          granted += lock.run([] {}) ? 1 : 0;
        }
      });
    }
  }
  EXPECT_EQ(granted, 20 * kThreads);
  const std::string clients = server.cli({"CLIENT", "LIST"});
  EXPECT_LE(std::count(clients.begin(), clients.end(), '\n'), kThreads + 1);
}

TEST_F(RedisLayout, DatabasesAndPrefixesAreApart) {
  const auto on = [&](const char* options) {
    return mortise::lock("k", 20s, std::make_shared<RedisLockStore>(server.url(options)));
  };
  Lock first = on("?db=1");
  Lock second = on("?db=2");
  Lock third = on("?db=2&prefix=app%3A");
  EXPECT_TRUE(first.acquire_immediately() && second.acquire_immediately() && third.acquire_immediately());
  EXPECT_FALSE(on("?db=1").acquire_immediately());
  EXPECT_EQ(server.cli({"-n", "2", "EXISTS", "app:k"}), "1");
}

TEST_F(RedisLayout, StoreIsOpenedByItsUrl) {
  const auto store = open_store(server.url());
  EXPECT_NE(std::dynamic_pointer_cast<RedisLockStore>(store), nullptr);
}

TEST(RedisNames, NoTwoKeysShareAName) {
  std::vector<std::string> keys = {"a",        "{a}",        "{a}b",        "a{b}c",    "}",  "{}a",
                                   "a}b",      "{{a}}b",     "a{",          "~",        "a~", "a:mortise",
                                   ":mortise", "a:mortise~", "a:mortise~~", "~:mortise"};
  for (const std::string& key : std::vector(keys)) {
    const auto names = names_of("", LockKey(key));
    keys.push_back(names.notes);
    keys.push_back(names.bell);
  }
  for (const std::string prefix : {"", "app:", "{", "}"}) {
    std::vector<std::string> all;
    for (const std::string& key : keys) {
      const auto names = names_of(prefix, LockKey(key));
      all.insert(all.end(), {names.lease, names.notes, names.bell});
      EXPECT_EQ(key_of_lease(prefix, names.lease), key);
      EXPECT_EQ(key_of_lease(prefix, names.notes), "");
      EXPECT_EQ(slot_of(names.notes), slot_of(names.lease)) << names.notes;
      EXPECT_EQ(slot_of(names.bell), slot_of(names.lease)) << names.bell;
    }
    std::sort(all.begin(), all.end());
    EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
  }
}

TEST_F(RedisLayout, SlotsAndScriptsAreNamedAsTheServerNamesThem) {
  constexpr auto kSha = store::redis::sha1("return 1");
  EXPECT_EQ(server.cli({"SCRIPT", "LOAD", "return 1"}), std::string(kSha.data(), kSha.size()));
  EXPECT_EQ(slot_of("123456789"), 0x31c3 % 16384);  // the test value of the cluster's specification
  EXPECT_EQ(slot_of("{user1000}.following"), slot_of("user1000"));
  EXPECT_EQ(slot_of("foo{}{bar}"), slot_of(std::string("foo{}{bar}")));
}

TEST(RedisUrl, SaysEverythingThatThereIsToSay) {
  const auto options = parse_url(
      "redis://ann:p%40ss@db.example:7000/"
      "3?prefix=a%20b:&timeout=5s&connect_timeout=100ms&min_replicas=2&wait=1s");
  EXPECT_EQ(options.servers.front().text(), "db.example:7000");
  EXPECT_EQ(options.user, "ann");
  EXPECT_EQ(options.password, "p@ss");
  EXPECT_EQ(options.database, 3U);
  EXPECT_EQ(options.prefix, "a b:");
  EXPECT_EQ(options.timeout, 5s);
  EXPECT_EQ(options.connect_timeout, 100ms);
  EXPECT_EQ(options.min_replicas, 2U);
  EXPECT_EQ(options.wait, 1s);
  EXPECT_EQ(parse_url("redis://[::1]").servers.front().text(), "[::1]:6379");
  EXPECT_EQ(parse_url("redis://:pw@h").password, "pw");
  EXPECT_EQ(parse_url("redis+unix:///run/a.sock?db=4").servers.front().path, "/run/a.sock");
  EXPECT_EQ(parse_url("redis+unix://u:p@/run/a.sock").user, "u");
  EXPECT_EQ(parse_url("redis+unix:/run/a.sock").servers.front().text(), "/run/a.sock");
  const auto sentinels = parse_url("redis+sentinel://a,b:5/main?db=1");
  EXPECT_EQ(sentinels.servers.front().port, 26379);
  EXPECT_EQ(sentinels.servers.back().port, 5);
  EXPECT_EQ(sentinels.master, "main");
  EXPECT_EQ(parse_url("redis+cluster://a,b").servers.size(), 2U);
}

TEST(RedisUrl, RefusesWhatItDoesNotUnderstandAndNamesIt) {
  const auto refusal_of = [](const char* url) {
    try {
      parse_url(url);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(refusal_of("redis://h/x"), HasSubstr("\"db\""));
  EXPECT_THAT(refusal_of("redis://h:0"), HasSubstr("\"0\" is no port"));
  EXPECT_THAT(refusal_of("redis://h:65536"), HasSubstr("no port"));
  EXPECT_THAT(refusal_of("redis://[::1"), HasSubstr("missing"));
  EXPECT_THAT(refusal_of("redis:h"), HasSubstr("\"//\""));
  EXPECT_THAT(refusal_of("redis://a,b"), HasSubstr("one host"));
  EXPECT_THAT(refusal_of("redis+unix:run/a.sock"), HasSubstr("begins with"));
  EXPECT_THAT(refusal_of("redis+sentinel://a"), HasSubstr("name of the master"));
  EXPECT_THAT(refusal_of("redis+cluster://a/1"), HasSubstr("no databases"));
  EXPECT_THAT(refusal_of("redis+cluster://a?db=1"), HasSubstr("\"db\""));
  EXPECT_THAT(refusal_of("redis://h?speed=1"), HasSubstr("\"speed\""));
  EXPECT_THAT(refusal_of("redis://h?timeout=0s"), HasSubstr("\"timeout\""));
  EXPECT_THAT(refusal_of("redis://ann:secret@h?x=1"), testing::Not(HasSubstr("secret")));
}

}  // namespace
}  // namespace mortise::test
