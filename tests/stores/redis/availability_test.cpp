// Sentinels and clusters: the store follows the master, and the slots.
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "store/redis/key_names.hpp"
#include "stores/redis/redis_test.hpp"
#include "support/child_process.hpp"
#include "support/figures.hpp"
#include "support/shared.hpp"

namespace mortise::test {
namespace {

using testing::HasSubstr;

// What a lock guards, and who is there. It tells older holders from newer ones by their fencing numbers.
struct GuardedResource {
  std::atomic<int> inside = 0;
  std::atomic<int> together = 0;  // entries while somebody else was inside
  std::atomic<std::uint64_t> newest = 0;
  std::atomic<int> stale = 0;  // entries with a number that is not the newest
  std::atomic<int> entries = 0;
  std::atomic<int> failures = 0;

  void enter(std::uint64_t fence) {
    if (inside++ > 0) ++together;
    std::uint64_t before = newest;
    while (before < fence && !newest.compare_exchange_weak(before, fence)) continue;
    if (before >= fence) ++stale;
    ++entries;
  }
  void leave() { --inside; }
};

// Takes the key, stays for a moment and goes, again and again.
void contend(Lock& lock, GuardedResource& resource) {
  try {
    std::ignore = lock.run(
        [&] {
          resource.enter(lock.fencing_token());
          std::this_thread::sleep_for(1ms);
          resource.leave();
        },
        {.timeout = 5s});
  } catch (const StoreError&) {
    ++resource.failures;
  }
}

class RedisSentinels : public testing::Test {
 protected:
  static std::string configuration(std::uint16_t master) {
    return "sentinel monitor main 127.0.0.1 " + std::to_string(master) +
           " 1\nsentinel down-after-milliseconds main 500\nsentinel failover-timeout main 3000\n";
  }
  [[nodiscard]] std::string url() const {
    // The first one named is not there.
    return "redis+sentinel://127.0.0.1:1,127.0.0.1:" + std::to_string(sentinel.port()) +
           "/main?timeout=500ms";
  }
  [[nodiscard]] Lock handle(const char* key, Ttl ttl = 5s) const {
    return mortise::lock(key, ttl, std::make_shared<RedisLockStore>(url()));
  }

  Watchdog watchdog;
  RedisServer master{{}, free_port()};
  RedisServer replica{{"--replicaof", "127.0.0.1", std::to_string(master.port())}, free_port()};
  RedisServer sentinel{{"--sentinel"}, free_port(), configuration(master.port())};
};

TEST_F(RedisSentinels, MasterIsFoundByItsName) {
  Lock lock = handle("k");
  ASSERT_TRUE(lock.acquire_immediately());
  EXPECT_EQ(master.cli({"EXISTS", "mortise:k"}), "1");
  EXPECT_TRUE(lock.release());
  const auto nobody = std::make_shared<RedisLockStore>(
      "redis+sentinel://127.0.0.1:" + std::to_string(sentinel.port()) + "/nobody?timeout=100ms");
  try {
    std::ignore = nobody->is_locked("k");
    ADD_FAILURE() << "found";
  } catch (const StoreError& error) {
    EXPECT_EQ(error.code(), StoreErrc::unreachable);
    EXPECT_THAT(error.what(), HasSubstr("knows no master called \"nobody\""));
  }
}

// What the dead master had not told its replica yet is lost: one lease at most, and its holder has the older
// number.
TEST_F(RedisSentinels, C03_FailoverWhileProcessesContendIsFollowedAndShownByTheFence) {
  ASSERT_TRUE(eventually([&] { return replica.cli({"ROLE"}).find("connected") != std::string::npos; }));
  ASSERT_TRUE(eventually(
      [&] {
        return sentinel.cli({"SENTINEL", "replicas", "main"}).find(std::to_string(replica.port())) !=
               std::string::npos;
      },
      30s));
  constexpr int kProcesses = 8;
  const Shared<GuardedResource> resource;
  std::vector<ChildProcess> processes;
  for (int i = 0; i < kProcesses; ++i) {
    processes.emplace_back([&](Channel&) {
      Lock lock = handle("k");
      for (;;) contend(lock, *resource);
    });
  }
  ASSERT_TRUE(eventually([&] { return resource->entries > 200; }));
  EXPECT_EQ(resource->together, 0);
  master.kill();
  const Stopwatch since_death;
  const int entries_before = resource->entries;
  ASSERT_TRUE(eventually([&] { return resource->entries > entries_before + 200; }, 30s));
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(since_death.elapsed());
  for (ChildProcess& each : processes) each.kill();
  EXPECT_LE(resource->together, 1);
  EXPECT_EQ(resource->stale, 0);
  report_figures("redis failover  entries " + std::to_string(resource->entries) + ", failures " +
                 std::to_string(resource->failures) + ", together " + std::to_string(resource->together) +
                 ", back after " + std::to_string(took.count()) + " ms");
}

class RedisClusters : public testing::Test {
 protected:
  static constexpr int kNodes = 3;

  RedisClusters() {
    constexpr int kSlots = 16384;
    for (int i = 0; i < kNodes; ++i) {
      nodes.push_back(std::make_unique<RedisServer>(
          std::vector<std::string>{"--cluster-enabled", "yes", "--cluster-port", std::to_string(free_port()),
                                   "--cluster-node-timeout", "2000"},
          free_port()));
      nodes.back()->cli({"CLUSTER", "ADDSLOTSRANGE", std::to_string(kSlots * i / kNodes),
                         std::to_string(kSlots * (i + 1) / kNodes - 1)});
    }
    for (const auto& node : nodes) {
      nodes[0]->cli({"CLUSTER", "MEET", "127.0.0.1", std::to_string(node->port()),
                     node->cli({"CONFIG", "GET", "cluster-port"}).substr(13)});
    }
    for (const auto& node : nodes) {
      EXPECT_TRUE(eventually(
          [&] {
            return node->cli({"CLUSTER", "INFO"}).find("cluster_state:ok") != std::string::npos;
          },
          30s));
    }
  }
  [[nodiscard]] std::string url() const {
    return "redis+cluster://127.0.0.1:1,127.0.0.1:" + std::to_string(nodes[0]->port());
  }
  [[nodiscard]] Lock handle(LockKey key, Ttl ttl = 20s) const {
    return mortise::lock(std::move(key), ttl, std::make_shared<RedisLockStore>(url()));
  }
  // The node that has the slot now.
  [[nodiscard]] std::size_t owner_of(const std::string& slot) const {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i]->cli({"CLUSTER", "COUNTKEYSINSLOT", slot}) != "0") return i;
    }
    return 0;
  }
  // Moves a slot with its keys, as redis-cli --cluster reshard does.
  void migrate(const std::string& slot, const RedisServer& from, const RedisServer& to) const {
    const std::string source = from.cli({"CLUSTER", "MYID"});
    const std::string target = to.cli({"CLUSTER", "MYID"});
    to.cli({"CLUSTER", "SETSLOT", slot, "IMPORTING", source});
    from.cli({"CLUSTER", "SETSLOT", slot, "MIGRATING", target});
    for (std::string key; !(key = from.cli({"CLUSTER", "GETKEYSINSLOT", slot, "1"})).empty();)
      from.cli({"MIGRATE", "127.0.0.1", std::to_string(to.port()), key, "0", "1000"});
    for (const auto& node : nodes) node->cli({"CLUSTER", "SETSLOT", slot, "NODE", target});
  }

  Watchdog watchdog;
  std::vector<std::unique_ptr<RedisServer>> nodes;
};

TEST_F(RedisClusters, KeysOfAllSlotsAreFound) {
  const auto store = std::make_shared<RedisLockStore>(url());
  for (const char* key : {"a", "b", "c", "d", "e", "{x}y", "}", "{}", "a}b{c", "user:{1}:{2}"}) {
    Lock lock = mortise::lock(key, 20s, store);
    ASSERT_TRUE(lock.acquire_immediately()) << key;
    EXPECT_FALSE(handle(key).acquire({.timeout = 1ms})) << key;
    EXPECT_NO_THROW(lock.extend());
    EXPECT_TRUE(lock.release());
  }
}

TEST_F(RedisClusters, WaiterIsWokenThere) {
  for (const char* key : {"a", "b", "c"}) {
    Lock holder = handle(key);
    ASSERT_TRUE(holder.acquire_immediately());
    const std::jthread releasing([&] {
      std::this_thread::sleep_for(30ms);
      EXPECT_TRUE(holder.release());
    });
    EXPECT_TRUE(handle(key).acquire({.timeout = 20s, .retry_delay = 20s}));
  }
}

TEST_F(RedisClusters, LeaseMovesWithItsSlotWhileThreadsContend) {
  const std::string slot = std::to_string(store::redis::slot_of("mortise:k"));
  GuardedResource resource;
  std::atomic<bool> done = false;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        // On a busy machine the slot takes its time.
        Lock lock = mortise::lock("k", 20s, std::make_shared<RedisLockStore>(url() + "?timeout=20s"));
        while (!done) contend(lock, resource);
      });
    }
    ASSERT_TRUE(eventually([&] { return resource.entries > 20; }));
    std::size_t from = owner_of(slot);
    for (int i = 0; i < 6; ++i) {
      const std::size_t to = (from + 1) % nodes.size();
      migrate(slot, *nodes[from], *nodes[to]);
      from = to;
      const int before = resource.entries;
      EXPECT_TRUE(eventually([&] { return resource.entries > before + 20; }));
    }
    done = true;
  }
  EXPECT_EQ(resource.together, 0);
  EXPECT_EQ(resource.stale, 0);
  EXPECT_EQ(resource.failures, 0);
}

TEST_F(RedisClusters, NodeThatDiesIsAnErrorInTimeAndTheOthersServe) {
  const auto store = std::make_shared<RedisLockStore>(url() + "?timeout=500ms");
  std::vector<Lock> locks;
  for (const char* key : {"a", "b", "c", "d", "e", "f"}) locks.push_back(mortise::lock(key, 20s, store));
  for (Lock& lock : locks) EXPECT_TRUE(lock.run([] {}));
  nodes.back()->kill();
  int failed = 0;
  for (Lock& lock : locks) {
    const Stopwatch watch;
    failed += code_of([&] { std::ignore = lock.acquire_immediately(); }) ? 1 : 0;
    EXPECT_LT(watch.elapsed(), 500ms + 5 * kSlack);
  }
  EXPECT_GT(failed, 0);
}

}  // namespace
}  // namespace mortise::test
