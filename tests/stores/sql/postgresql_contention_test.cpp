// Processes that contend while PostgreSQL fails, or is configured otherwise than usual.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "mortise/mortise.hpp"
#include "mortise/sql_lock_store.hpp"
#include "stores/sql/pooling_proxy.hpp"
#include "stores/sql/postgresql_test.hpp"
#include "storm/history_checker.hpp"
#include "support/child_process.hpp"
#include "support/eventually.hpp"
#include "support/shared.hpp"

namespace mortise {
namespace {

using namespace std::chrono_literals;
using test::Channel;
using test::ChildProcess;
using PostgresqlContention = test::PostgresqlStore;

constexpr unsigned kProcesses = 8;

// What the processes did, each in a part of its own.
struct Records {
  struct OfOne {
    std::array<storm::Operation, 1000> operations;
    std::atomic<std::size_t> count;
  };
  std::array<OfOne, kProcesses> of_each;
  std::atomic<bool> is_over;
};

std::size_t count_of(const Records& records) {
  std::size_t count = 0;
  for (const Records::OfOne& one : records.of_each) count += one.count;
  return count;
}

storm::History history_of(const Records& records) {
  storm::History history;
  for (const Records::OfOne& one : records.of_each) {
    history.operations.insert(history.operations.end(), one.operations.begin(),
                              one.operations.begin() + static_cast<std::ptrdiff_t>(one.count));
    history.processes.emplace_back();
  }
  return history;
}

// Of one process: what it does is written down before, and what came of it after.
class Recorder {
 public:
  Recorder(Records::OfOne& records, storm::ProcessNumber process) : records_(records), process_(process) {}

  [[nodiscard]] bool is_full() const { return records_.count + 2 > records_.operations.size(); }

  bool acquire(Lock& lock, storm::KeyIndex key, const AcquireOptions& options) {
    storm::Operation& operation = begin(storm::Kind::acquire, key);
    operation.ttl = kTtl;
    operation.timeout = std::chrono::duration_cast<storm::Millis>(options.timeout.nanoseconds());
    operation.retry_delay = std::chrono::duration_cast<storm::Millis>(options.retry_delay.nanoseconds());
    operation.lease = (std::uint64_t{process_} + 1) << 32U | records_.count;
    const bool is_granted = lock.acquire(options);
    if (is_granted) operation.fence = lock.fencing_token();
    end(operation, is_granted);
    lease_ = operation.lease;
    return is_granted;
  }

  // That its connection was lost in the middle is an honest answer: the lease is over all the same.
  void release(Lock& lock, storm::KeyIndex key) {
    storm::Operation& operation = begin(storm::Kind::release, key);
    operation.lease = lease_;
    try {
      end(operation, lock.release());
    } catch (const StoreError& error) {
      if (error.code() != StoreErrc::unreachable) throw;
    }
  }

  static constexpr std::chrono::milliseconds kTtl{60'000};

 private:
  storm::Operation& begin(storm::Kind kind, storm::KeyIndex key) {
    storm::Operation& operation = records_.operations.at(records_.count++);
    operation.kind = kind;
    operation.process = process_;
    operation.key = key;
    operation.invoked = storm::now();
    return operation;
  }
  static void end(storm::Operation& operation, bool answer) {
    operation.result = answer ? storm::Result::yes : storm::Result::no;
    operation.returned = storm::now();
  }

  Records::OfOne& records_;
  const storm::ProcessNumber process_;
  storm::LeaseId lease_ = storm::kNobodys;
};

// Acquires keys at random, half of the time waiting for them, until it is over.
void contend(const std::string& url, Records& records, unsigned process) {
  constexpr std::array<const char*, 3> kKeys = {"a", "b", "c"};
  const auto store = open_store(url);
  Recorder recorder(records.of_each.at(process), process);
  std::minstd_rand random(process + 1);
  while (!records.is_over && !recorder.is_full()) {
    const auto key = static_cast<storm::KeyIndex>(random() % kKeys.size());
    const AcquireOptions options{.timeout = random() % 2 == 0 ? 5s : 0s, .retry_delay = 20ms};
    Lock lock(LockKey(kKeys.at(key)), Recorder::kTtl, store);
    if (!recorder.acquire(lock, key, options)) continue;
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
    recorder.release(lock, key);
  }
}

// While `meanwhile`, which sees the records, runs.
template <class Meanwhile>
void expect_a_right_history(const std::string& url, const Meanwhile& meanwhile) {
  const auto store = open_store(url);
  const test::Shared<Records> records;
  std::vector<ChildProcess> workers;
  for (unsigned i = 0; i < kProcesses; ++i)
    workers.emplace_back([&, i](Channel&) { contend(url, *records, i); });
  meanwhile(*records);
  records->is_over = true;
  for (ChildProcess& worker : workers) EXPECT_EQ(worker.wait(), 0);
  const storm::History history = history_of(*records);
  EXPECT_GT(history.operations.size(), 10 * kProcesses);
  for (const storm::Violation& violation : storm::check(history, {.slack = 10s}))
    ADD_FAILURE() << storm::name_of(violation.rule) << ": " << violation.text;
}

TEST_F(PostgresqlContention, C02_C23_BackendsAreTerminated) {
  const test::Watchdog longer(100s);
  expect_a_right_history(server().url(of_this_table() + "&timeout=40s"), [](const Records& records) {
    for (int i = 0; i < 8; ++i) {
      // They are connected again by then; and if it takes too long for that, so much the worse for them.
      const std::size_t before = count_of(records);
      std::ignore = test::eventually([&] { return count_of(records) >= before + 10 * kProcesses; }, 5s);
      terminate_all_backends();
    }
  });
}

TEST_F(PostgresqlContention, C02_ProxyLendsASessionForOneTransaction) {
  if (!test::PoolingProxy::is_installed()) GTEST_SKIP() << "PgBouncer is missing";
  const test::PoolingProxy proxy(server(), 3);
  expect_a_right_history(proxy.url(of_this_table() + "&timeout=20s"), [](const Records&) {
    std::this_thread::sleep_for(2s);
    EXPECT_LE(std::stoi(execute("SELECT count(*) FROM pg_stat_activity WHERE usename = 'postgres' "
                                "AND backend_type = 'client backend' AND pid <> pg_backend_pid()")),
              3);
  });
  EXPECT_EQ(execute("SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'"), "0");
}

struct Storm {
  std::array<std::atomic<int>, 20> holders;
  std::atomic<int> collisions;
};

// Locks keys at random, some of them beyond their expiry, and sweeps.
void work_in_a_storm(const std::string& url, Storm& storm, unsigned seed) {
  SqlLockStore store(url);
  const std::shared_ptr<LockStore> same(&store, [](LockStore*) {});
  for (int i = 0; i < 100; ++i) {
    const auto number = static_cast<std::size_t>(rand_r(&seed)) % storm.holders.size();
    const bool is_abandoned = rand_r(&seed) % 10 == 0;
    Lock lock(LockKey("key " + std::to_string(number)), is_abandoned ? Ttl(1ms) : Ttl(60s), same);
    if (!lock.acquire_immediately()) continue;
    if (is_abandoned) {
      lock.detach();
    } else {
      if (storm.holders.at(number)++ != 0) ++storm.collisions;
      --storm.holders.at(number);
      if (!lock.release()) ++storm.collisions;
    }
    if (i % 25 == 0) store.remove_expired();
  }
}

TEST_F(PostgresqlContention, C02_F9_NoDeadlockAndNoSerializationFailureReachesAnybody) {
  for (const char* isolation : {"'read committed'", "'repeatable read'", "serializable"}) {
    set(std::string("default_transaction_isolation = ") + isolation);
    SqlLockStore store(url());
    const test::Shared<Storm> storm;
    std::vector<ChildProcess> workers;
    for (unsigned i = 0; i < kProcesses; ++i)
      workers.emplace_back([&, i](Channel&) { work_in_a_storm(url(), *storm, i); });
    for (ChildProcess& worker : workers) EXPECT_EQ(worker.wait(), 0) << isolation;
    EXPECT_EQ(storm->collisions, 0) << isolation;
    std::this_thread::sleep_for(5ms);  // beyond the last expiry
    store.remove_expired();
    EXPECT_EQ(execute("SELECT count(*) FROM " + table()), "0") << isolation;
  }
}

}  // namespace
}  // namespace mortise
