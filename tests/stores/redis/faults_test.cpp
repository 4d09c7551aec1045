// What goes wrong at a server or on the way to it: each operation ends in time, with what happened.
#include <algorithm>
#include <thread>
#include <tuple>

#include "stores/redis/faulty_proxy.hpp"
#include "stores/redis/redis_test.hpp"

namespace mortise::test {
namespace {

using testing::HasSubstr;

class RedisFaults : public testing::Test {
 protected:
  std::shared_ptr<LockStore> direct() { return std::make_shared<RedisLockStore>(server.url(kShort)); }
  Lock elsewhere(const char* key, Ttl ttl = 20s) { return mortise::lock(key, ttl, direct()); }
  bool is_free(const char* key) { return elsewhere(key).acquire_immediately(); }

  Watchdog watchdog;
  RedisServer server;
};

// Through a proxy. The connection of `store` is there before anything goes wrong.
class RedisNetworkFaults : public RedisFaults {
 protected:
  RedisNetworkFaults() { EXPECT_FALSE(store->is_locked("anything")); }

  FaultyProxy proxy{server.socket()};
  std::shared_ptr<LockStore> store = std::make_shared<RedisLockStore>(proxy.url(kShort));
  Lock lock = mortise::lock("k", 20s, store);
};

TEST_F(RedisFaults, F2_F3_ServerThatIsNotThereIsAnErrorAndIsUsedWhenItComes) {
  Lock lock = elsewhere("k");
  server.kill();
  expect_failure_in_time(lock, {StoreErrc::unreachable});
  server.start();
  ASSERT_TRUE(lock.acquire_immediately());
  EXPECT_FALSE(is_free("k"));
  EXPECT_TRUE(lock.release());
}

TEST_F(RedisFaults, F3_ServerThatIsKilledAndComesBackEmptyHasLostTheLease) {
  Lock lock = elsewhere("k");
  ASSERT_TRUE(lock.acquire_immediately());
  const std::uint64_t fence = lock.fencing_token();
  server.kill();
  expect_holder_fails_in_time(lock, {StoreErrc::unreachable});
  server.start();
  EXPECT_TRUE(lock.is_expired());
  EXPECT_THROW(lock.extend(), LockNotHeldError);
  EXPECT_FALSE(lock.release());
  Lock next = elsewhere("k");
  ASSERT_TRUE(next.acquire_immediately());
  EXPECT_GT(next.fencing_token(), fence) << "the fence shows that the server has forgotten a lease";
}

TEST_F(RedisFaults, F3_StoppedServerCostsATimeoutAndNoMore) {
  Lock held = elsewhere("held");
  Lock lock = elsewhere("k");
  ASSERT_TRUE(held.acquire_immediately());
  server.stop();
  expect_failure_in_time(lock, {StoreErrc::unreachable});
  expect_holder_fails_in_time(held, {StoreErrc::unreachable});
  server.resume();
  // What the stopped server had been sent, it does now; and then it is undone (C23).
  EXPECT_TRUE(eventually([&] { return is_free("k"); }));
  EXPECT_TRUE(lock.acquire_immediately());
}

TEST_F(RedisFaults, F4_LostScriptsAreNoticedByNobody) {
  Lock lock = elsewhere("k");
  ASSERT_TRUE(lock.acquire_immediately());
  server.cli({"SCRIPT", "FLUSH"});
  EXPECT_NO_THROW(lock.extend());
  server.cli({"SCRIPT", "FLUSH"});
  EXPECT_TRUE(lock.release());
  server.cli({"SCRIPT", "FLUSH"});
  EXPECT_TRUE(elsewhere("k").acquire({.timeout = 1s}));
}

TEST(RedisRestart, F4_LeaseOutlivesARestartOfAServerThatSavesIt) {
  const Watchdog watchdog;
  RedisServer server({"--appendonly", "yes", "--appendfsync", "always"});
  Lock lock = mortise::lock("k", 20s, std::make_shared<RedisLockStore>(server.url(kShort)));
  ASSERT_TRUE(lock.acquire_immediately());
  server.kill();
  server.start();
  ASSERT_TRUE(eventually([&] { return !code_of([&] { lock.extend(); }); })) << "it loads its data first";
  EXPECT_TRUE(lock.release());
  EXPECT_TRUE(lock.acquire_immediately());
}

TEST_F(RedisFaults, B2_ExtendOfALostLeaseRevivesNothingAndStretchesNobodysLease) {
  Lock first = elsewhere("k", 50ms);
  ASSERT_TRUE(first.acquire_immediately());
  std::this_thread::sleep_for(80ms);
  EXPECT_THROW(first.extend(60s), LockNotHeldError);
  EXPECT_TRUE(is_free("k"));

  ASSERT_TRUE(first.acquire_immediately());
  std::this_thread::sleep_for(80ms);
  Lock second = elsewhere("k", 10s);
  ASSERT_TRUE(second.acquire_immediately());
  EXPECT_THROW(first.extend(60s), LockNotHeldError);
  EXPECT_LE(second.remaining_time(), 10s);
  EXPECT_TRUE(second.release());
}

// Wherever a reply is cut, the store finds out what has happened.
TEST_F(RedisNetworkFaults, C23_ReplyCutAtEveryByteIsAskedForAgain) {
  constexpr std::size_t kLongest = 40;  // longer than any of them, so that the last cuts are none
  for (std::size_t bytes = 0; bytes < kLongest; ++bytes) {
    SCOPED_TRACE(bytes);
    const auto cut = [&] { proxy.inject({.kind = Fault::Kind::cut_replies, .bytes = bytes, .times = 1}); };
    cut();
    ASSERT_TRUE(lock.acquire_immediately());
    const std::uint64_t fence = lock.fencing_token();
    cut();
    EXPECT_NO_THROW(lock.extend());
    cut();
    EXPECT_FALSE(lock.is_expired());
    cut();
    EXPECT_TRUE(lock.release()) << "though the first one, whose answer was lost, had done it";
    cut();
    ASSERT_TRUE(lock.acquire({.timeout = 1s}));
    EXPECT_GT(lock.fencing_token(), fence);
    proxy.heal();
    EXPECT_TRUE(lock.release());
    EXPECT_TRUE(is_free("k"));
  }
}

TEST_F(RedisNetworkFaults, C23_RequestCutAtEveryByteIsMadeAgain) {
  constexpr std::size_t kLongest = 300;
  for (std::size_t bytes = 0; bytes < kLongest; bytes += bytes < 40 ? 1 : 7) {
    SCOPED_TRACE(bytes);
    proxy.inject({.kind = Fault::Kind::cut_requests, .bytes = bytes, .times = 1});
    ASSERT_TRUE(lock.acquire_immediately());
    proxy.inject({.kind = Fault::Kind::cut_requests, .bytes = bytes, .times = 1});
    EXPECT_TRUE(lock.release());
    proxy.heal();
    EXPECT_TRUE(is_free("k"));
  }
}

TEST_F(RedisNetworkFaults, F2_EveryPhaseOfABrokenConnectionIsAnErrorWhetherTheKeyIsHeldOrFree) {
  Lock holder = elsewhere("held");
  ASSERT_TRUE(holder.acquire_immediately());
  Lock contender = mortise::lock("held", 20s, store);
  for (const Fault& fault :
       {Fault{.kind = Fault::Kind::refuse}, Fault{.kind = Fault::Kind::cut_requests},
        Fault{.kind = Fault::Kind::cut_requests, .bytes = 20}, Fault{.kind = Fault::Kind::cut_replies},
        Fault{.kind = Fault::Kind::cut_replies, .bytes = 1}, Fault{.kind = Fault::Kind::swallow_requests},
        Fault{.kind = Fault::Kind::swallow_replies}}) {
    SCOPED_TRACE(static_cast<int>(fault.kind));
    proxy.inject(fault);
    expect_failure_in_time(lock, {StoreErrc::unreachable});
    expect_failure_in_time(contender, {StoreErrc::unreachable});
    proxy.heal();
    EXPECT_FALSE(contender.acquire_immediately()) << "the same object works, and still says false";
    EXPECT_TRUE(eventually([&] { return is_free("k"); })) << "no lease is left behind (C23)";
    EXPECT_TRUE(lock.run([] {}));
  }
  EXPECT_TRUE(holder.release());
}

TEST_F(RedisNetworkFaults, F2_F3_WhatAServerSaysInsteadIsAnErrorOfItsOwn) {
  struct Case {
    const char* answer;
    StoreErrc code;
  };
  for (const Case& each :
       {Case{"-READONLY You can't write against a read only replica.\r\n", StoreErrc::refused},
        Case{"-LOADING Redis is loading the dataset in memory\r\n", StoreErrc::refused},
        Case{"-BUSY Redis is busy running a script.\r\n", StoreErrc::refused},
        Case{"-MASTERDOWN Link with MASTER is down\r\n", StoreErrc::refused},
        Case{"-OOM command not allowed when used memory > 'maxmemory'.\r\n", StoreErrc::no_space},
        Case{"-NOAUTH Authentication required.\r\n", StoreErrc::permission_denied},
        Case{"-SOMETHING that nobody has heard of\r\n", StoreErrc::refused},
        Case{"HTTP/1.1 400 Bad Request\r\n\r\n", StoreErrc::bad_answer},
        Case{"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n", StoreErrc::bad_answer},
        Case{"*2147483647\r\n", StoreErrc::bad_answer}, Case{"*-7\r\n", StoreErrc::bad_answer}}) {
    SCOPED_TRACE(each.answer);
    proxy.inject({.kind = Fault::Kind::answer, .text = each.answer});
    expect_failure_in_time(lock, {each.code});
    proxy.heal();
    EXPECT_TRUE(lock.acquire_immediately());
    EXPECT_TRUE(lock.release());
  }
}

TEST_F(RedisNetworkFaults, C22_AnswerThatIsNoneToTheQuestionIsAnError) {
  for (const char* answer : {"$-1\r\n", "+OK\r\n", "*0\r\n", "*3\r\n:1\r\n:2\r\n:3\r\n", "$3\r\nabc\r\n"}) {
    SCOPED_TRACE(answer);
    proxy.inject({.kind = Fault::Kind::answer, .text = answer});
    EXPECT_EQ(code_of([&] { std::ignore = lock.acquire_immediately(); }), StoreErrc::bad_answer);
    proxy.heal();
    EXPECT_TRUE(eventually([&] { return is_free("k"); }));
  }
}

// A reply of 512 MB is announced, and comes, as far as anybody takes it.
TEST_F(RedisNetworkFaults, C22_ReplyThatIsTooLongIsNotReadToItsEnd) {
  RedisLockStore patient(proxy.url("?timeout=20s"));
  EXPECT_FALSE(patient.is_locked("k"));
  proxy.inject({.kind = Fault::Kind::answer, .text = "$536870912\r\n" + std::string(8 << 20, 'x')});
  const Stopwatch watch;
  EXPECT_EQ(code_of([&] { std::ignore = patient.is_locked("k"); }), StoreErrc::bad_answer);
  EXPECT_LT(watch.elapsed(), 9s) << "half of the time is for one try that gets no answer";
}

// The server has granted what nobody knows of, and the acquire cannot be repeated in time.
TEST_F(RedisNetworkFaults, C23_AcquireThatStaysInDoubtIsUndone) {
  proxy.inject({.kind = Fault::Kind::swallow_replies});
  EXPECT_EQ(code_of([&] { std::ignore = lock.acquire_immediately(); }), StoreErrc::unreachable);
  proxy.heal();
  EXPECT_TRUE(eventually([&] { return is_free("k"); }));
}

// The connection is gone without a word, as behind a firewall that forgets: the second try is over a new one.
TEST_F(RedisNetworkFaults, F3_HalfOpenConnectionIsGivenUpInTimeForAnotherTry) {
  proxy.inject({.kind = Fault::Kind::swallow_requests, .times = 1});
  std::jthread healing([&] {
    std::this_thread::sleep_for(kTimeout / 4);
    proxy.heal();
  });
  EXPECT_TRUE(lock.acquire_immediately());
}

TEST_F(RedisFaults, C22_WrongPasswordIsRefusedBySentenceAndCode) {
  server.cli({"ACL", "SETUSER", "ann", "on", ">secret", "~*", "+@all"});
  const auto refused = std::make_shared<RedisLockStore>("redis+unix://ann:wrong@" + server.socket() + kShort);
  EXPECT_EQ(code_of([&] { refused->is_locked("k"); }), StoreErrc::permission_denied);
  const auto admitted = std::make_shared<RedisLockStore>("redis+unix://ann:secret@" + server.socket());
  EXPECT_TRUE(mortise::lock("k", 1s, admitted).acquire_immediately());
  server.cli({"CONFIG", "SET", "requirepass", "general"});
  const auto general = std::make_shared<RedisLockStore>("redis+unix://:general@" + server.socket());
  EXPECT_TRUE(mortise::lock("k", 1s, general).acquire_immediately());
  EXPECT_EQ(code_of([&] { direct()->is_locked("k"); }), StoreErrc::permission_denied);
}

TEST_F(RedisFaults, C22_UserWithoutTheRightsIsToldWhichCommandItMayNot) {
  server.cli({"ACL", "SETUSER", "bob", "on", ">secret", "~*", "+@all", "-evalsha"});
  Lock lock = mortise::lock(
      "k", 1s, std::make_shared<RedisLockStore>("redis+unix://bob:secret@" + server.socket() + kShort));
  try {
    std::ignore = lock.acquire_immediately();
    ADD_FAILURE() << "granted";
  } catch (const StoreError& error) {
    EXPECT_EQ(error.code(), StoreErrc::permission_denied);
    EXPECT_THAT(error.what(), HasSubstr("evalsha"));
  }
  server.cli({"ACL", "SETUSER", "carl", "on", ">secret", "~mortise:*", "+@all"});
  Lock outside = mortise::lock("k", 1s,
                               std::make_shared<RedisLockStore>("redis+unix://carl:secret@" +
                                                                server.socket() + kShort + "&prefix=other:"));
  EXPECT_EQ(code_of([&] { std::ignore = outside.acquire_immediately(); }), StoreErrc::permission_denied);
}

// Those that docs/stores/redis.md asks for.
TEST_F(RedisFaults, C22_UserWithNoMoreThanTheDocumentedRightsDoesEverything) {
  server.cli({"ACL",      "SETUSER",         "locks",       "on",
              ">secret",  "~mortise:*",      "~{mortise:*", "~{*}mortise:*",
              "+evalsha", "+eval",           "+get",        "+set",
              "+del",     "+exists",         "+pttl",       "+pexpire",
              "+time",    "+hget",           "+hset",       "+rpush",
              "+blpop",   "+client|setname", "+client|id",  "+client|unblock"});
  const auto store = std::make_shared<RedisLockStore>("redis+unix://locks:secret@" + server.socket());
  for (const char* key : {"k", "{tag}", "}"}) {
    Lock holder = mortise::lock(key, 20s, store);
    Lock waiter = mortise::lock(key, 20s, store);
    ASSERT_TRUE(holder.acquire_immediately());
    EXPECT_FALSE(waiter.acquire({.timeout = 10ms}));
    EXPECT_TRUE(waiter.is_locked() && waiter.remaining_time());
    holder.extend(10s);
    const std::jthread releasing([&] {
      std::this_thread::sleep_for(20ms);
      EXPECT_TRUE(holder.release());
    });
    EXPECT_TRUE(waiter.acquire({.timeout = 20s, .retry_delay = 20s}));
    EXPECT_FALSE(waiter.is_expired());
  }
  EXPECT_THAT(server.cli({"ACL", "LOG"}), testing::IsEmpty()) << "nothing was refused";
}

// Without CLIENT there is no name and no way to end a wait early, and that is all.
TEST_F(RedisFaults, C14_UserWithoutTheClientCommandWaitsAllTheSame) {
  server.cli({"ACL", "SETUSER", "dan", "on", ">secret", "~*", "+@all", "-client"});
  const auto store = std::make_shared<RedisLockStore>("redis+unix://dan:secret@" + server.socket());
  Lock holder = mortise::lock("k", 20s, store);
  ASSERT_TRUE(holder.acquire_immediately());
  Lock waiter = mortise::lock("k", 20s, store);
  EXPECT_FALSE(waiter.acquire({.timeout = 50ms}));
  const std::jthread releasing([&] {
    std::this_thread::sleep_for(30ms);
    EXPECT_TRUE(holder.release());
  });
  const Stopwatch watch;
  EXPECT_TRUE(waiter.acquire({.timeout = 30s, .retry_delay = 20s}));
  EXPECT_LT(watch.elapsed(), 30ms + 2 * kSlack);
}

TEST_F(RedisFaults, C22_FullServerIsAnErrorAndStillReleases) {
  Lock lock = elsewhere("k");
  Lock waiting = elsewhere("k");
  ASSERT_TRUE(lock.acquire_immediately());
  ASSERT_FALSE(waiting.acquire({.timeout = 1ms})) << "notes that somebody waits";
  server.cli({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_EQ(code_of([&] { std::ignore = elsewhere("other").acquire_immediately(); }), StoreErrc::no_space);
  EXPECT_NO_THROW(lock.extend(1s));
  EXPECT_TRUE(lock.release());
  server.cli({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_TRUE(is_free("k") && is_free("other"));
}

TEST_F(RedisFaults, C22_KeyOfAnotherTypeIsAnErrorAndIsLeftAsItIs) {
  server.cli({"RPUSH", "mortise:k", "not a lock"});
  Lock lock = elsewhere("k");
  EXPECT_EQ(code_of([&] { std::ignore = lock.acquire_immediately(); }), StoreErrc::refused);
  EXPECT_EQ(code_of([&] { std::ignore = lock.acquire({.timeout = 1s}); }), StoreErrc::refused);
  EXPECT_EQ(server.cli({"LRANGE", "mortise:k", "0", "-1"}), "not a lock");
}

TEST_F(RedisFaults, F3_ReplicaIsRefusedAndUsedWhenItIsPromoted) {
  const RedisServer replica({"--replicaof", "127.0.0.1", std::to_string(free_port())});
  Lock lock = mortise::lock("k", 20s, std::make_shared<RedisLockStore>(replica.url(kShort)));
  EXPECT_EQ(code_of([&] { std::ignore = lock.acquire_immediately(); }), StoreErrc::refused);
  replica.cli({"REPLICAOF", "NO", "ONE"});
  EXPECT_TRUE(lock.acquire_immediately());
}

TEST_F(RedisFaults, C22_GrantThatTooFewReplicasHaveIsUndone) {
  Lock lock = mortise::lock(
      "k", 20s,
      std::make_shared<RedisLockStore>(server.url(kShort) + std::string("&min_replicas=1&wait=20ms")));
  EXPECT_EQ(code_of([&] { std::ignore = lock.acquire_immediately(); }), StoreErrc::unreachable);
  EXPECT_TRUE(eventually([&] { return is_free("k"); }));
}

}  // namespace
}  // namespace mortise::test
