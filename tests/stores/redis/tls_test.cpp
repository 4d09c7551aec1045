// rediss://: the same store, encrypted, with a server that has to prove who it is.
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "mortise/inspect.hpp"
#include "stores/redis/cutting_relay.hpp"
#include "stores/redis/redis_test.hpp"
#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"

namespace mortise::test {
namespace {

using testing::HasSubstr;

// A certificate that its owner signed, and its key.
class Certificate {
 public:
  explicit Certificate(const std::string& names) {
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test "
        "-addext subjectAltName=" +
        names + " -keyout " + key() + " -out " + file() + " 2> " + directory_.file("log");
    if (std::system(command.c_str()) != 0)  // NOLINT(cert-env33-c)
      throw std::runtime_error("openssl makes no certificate");
  }
  [[nodiscard]] std::string file() const { return directory_.file("certificate.pem"); }
  [[nodiscard]] std::string key() const { return directory_.file("key.pem"); }

 private:
  TemporaryDirectory directory_;
};

std::vector<std::string> tls_arguments(const Certificate& certificate, std::uint16_t port,
                                       const std::string& clients = "no") {
  return {"--tls-port",      std::to_string(port), "--tls-cert-file",  certificate.file(),   "--tls-key-file",
          certificate.key(), "--tls-ca-cert-file", certificate.file(), "--tls-auth-clients", clients};
}

// What a use of the store at this URL ends with.
std::string complaint(const std::string& url) {
  try {
    std::ignore = mortise::lock("k", 20s, std::make_shared<RedisLockStore>(url)).acquire_immediately();
  } catch (const StoreError& error) {
    EXPECT_EQ(error.code(), StoreErrc::unreachable) << error.what();
    return error.what();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

class RedisTls : public testing::Test {
 protected:
  [[nodiscard]] static std::string address(std::uint16_t where) {
    return "127.0.0.1:" + std::to_string(where);
  }
  [[nodiscard]] std::string url(const std::string& options = "") const {
    return "rediss://" + address(port) + "?ca=" + certificate.file() + options;
  }
  [[nodiscard]] Lock handle(const char* key) const {
    return mortise::lock(key, 20s, std::make_shared<RedisLockStore>(url()));
  }

  Watchdog watchdog;
  Certificate certificate{"IP:127.0.0.1"};
  std::uint16_t port = free_port();
  RedisServer server{tls_arguments(certificate, port)};
};

TEST_F(RedisTls, LeasesAreThoseOfTheSameServerWithoutIt) {
  Lock lock = handle("k");
  ASSERT_TRUE(lock.acquire_immediately());
  EXPECT_FALSE(mortise::lock("k", 20s, std::make_shared<RedisLockStore>(server.url())).acquire_immediately());
  lock.extend();
  EXPECT_TRUE(lock.is_locked());
  EXPECT_EQ(open_view(url())->leases().size(), 1U);
  EXPECT_TRUE(restore_lock(lock.serialize(), open_store(url())).release());
}

TEST_F(RedisTls, WaiterIsWoken) {
  Lock holder = handle("k");
  for (int round = 0; round < 5; ++round) {
    ASSERT_TRUE(holder.acquire({.timeout = 20s, .retry_delay = 20s}));
    const std::jthread releasing([&] {
      std::this_thread::sleep_for(30ms);
      EXPECT_TRUE(holder.release());
    });
    Lock waiter = handle("k");
    const Stopwatch watch;
    EXPECT_TRUE(waiter.acquire({.timeout = 20s, .retry_delay = 20s}));
    EXPECT_LT(watch.elapsed(), 4 * kSlack);
    EXPECT_TRUE(waiter.release());
  }
}

// A server tells a client how to resume its session, at a moment of its own choice: no reason to connect
// anew.
TEST_F(RedisTls, ConnectionIsUsedAgain) {
  Lock lock = handle("k");
  const auto connections = [&] {
    const std::string stats = server.cli({"INFO", "stats"});
    return std::stoi(stats.substr(stats.find("total_connections_received:") + 27));
  };
  std::ignore = lock.run([] {});
  const int before = connections();
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(lock.run([] { std::this_thread::sleep_for(1ms); }));
  EXPECT_EQ(connections(), before + 1) << "that of the question";
}

TEST_F(RedisTls, ServerThatProvesNothingIsRefused) {
  EXPECT_THAT(complaint("rediss://" + address(port)), HasSubstr("self-signed certificate"));
  const Certificate stranger("IP:127.0.0.1");
  EXPECT_THAT(complaint("rediss://" + address(port) + "?ca=" + stranger.file()), HasSubstr("certificate"));
  EXPECT_THAT(complaint("rediss://localhost:" + std::to_string(port) + "?ca=" + certificate.file()),
              HasSubstr("mismatch"));
}

TEST_F(RedisTls, NameOfAServerIsProvedToo) {
  const Certificate named("DNS:localhost");
  const std::uint16_t another_port = free_port();
  const RedisServer another(tls_arguments(named, another_port));
  EXPECT_EQ(complaint("rediss://localhost:" + std::to_string(another_port) + "?ca=" + named.file()), "");
  EXPECT_THAT(complaint("rediss://" + address(another_port) + "?ca=" + named.file()),
              HasSubstr("IP address mismatch"));
}

TEST_F(RedisTls, ServerMayAskWhoWeAre) {
  const std::uint16_t strict_port = free_port();
  const RedisServer strict(tls_arguments(certificate, strict_port, "yes"));
  const std::string strict_url = "rediss://" + address(strict_port) + "?ca=" + certificate.file();
  EXPECT_THAT(complaint(strict_url), HasSubstr("certificate required"));
  EXPECT_EQ(complaint(strict_url + "&cert=" + certificate.file() + "&key=" + certificate.key()), "");
}

TEST_F(RedisTls, FilesAreNamedThatAreNotWhatTheyShouldBe) {
  EXPECT_THAT(complaint("rediss://h?ca=/nowhere.pem"), HasSubstr("cannot be read from /nowhere.pem"));
  EXPECT_THAT(complaint("rediss://h?ca=" + certificate.key()), HasSubstr(certificate.key()));
  EXPECT_THAT(complaint(url("&cert=" + certificate.key())), HasSubstr("no certificate"));
  EXPECT_THAT(complaint(url("&cert=" + certificate.file())), HasSubstr("no key"));
  EXPECT_THAT(complaint(url("&key=" + certificate.key())), HasSubstr("without cert="));
  const Certificate another("IP:127.0.0.1");
  EXPECT_THAT(complaint(url("&cert=" + certificate.file() + "&key=" + another.key())),
              HasSubstr("no key of that certificate"));
  EXPECT_THAT(complaint("redis://h?ca=/nowhere.pem"), HasSubstr("\"ca\""));
}

TEST_F(RedisTls, ServerWithoutItIsAnErrorInTime) {
  const std::uint16_t plain_port = free_port();
  const RedisServer plain({}, plain_port);
  EXPECT_THAT(complaint("rediss://" + address(plain_port) + "?ca=" + certificate.file()),
              HasSubstr("does it speak TLS there?"));
}

TEST_F(RedisTls, ServerThatSaysNothingIsAnErrorInTime) {
  server.stop();
  const Stopwatch watch;
  EXPECT_THAT(complaint(url("&timeout=300ms&connect_timeout=200ms")), HasSubstr("did not answer in time"));
  EXPECT_LT(watch.elapsed(), kTimeout + 5 * kSlack);
  server.resume();
}

// Wherever the talk breaks off: a grant, or an error, in time, and nothing that stays behind.
TEST_F(RedisTls, C23_TalkThatBreaksOffIsAnErrorInTime) {
  CuttingRelay relay(port);
  const std::string relayed = "rediss://" + address(relay.port()) + "?ca=" + certificate.file();
  int failures = 0;
  int grants = 0;
  for (std::size_t bytes = 1; bytes < 2000; bytes += 23) {
    relay.cut_after(bytes);
    Lock lock = mortise::lock(
        "k", 200ms, std::make_shared<RedisLockStore>(relayed + "&timeout=300ms&connect_timeout=300ms"));
    const Stopwatch watch;
    try {
      grants += lock.acquire({.timeout = 5s, .retry_delay = 10ms}) ? 1 : 0;
      lock.release();
    } catch (const StoreError&) {
      ++failures;
    }
    EXPECT_LT(watch.elapsed(), 5s + 5 * kSlack) << bytes;
  }
  EXPECT_GT(failures, 10);
  EXPECT_GT(grants, 10);
}

TEST_F(RedisTls, C17_ForkedChildHasConnectionsOfItsOwn) {
  if (kWhyNoForkBesideThreads != nullptr) GTEST_SKIP() << kWhyNoForkBesideThreads;
  Lock held = handle("held");
  ASSERT_TRUE(held.acquire_immediately());
  std::jthread busy([&](const std::stop_token& stop) {
    Lock another = handle("another");
    while (!stop.stop_requested()) std::ignore = another.run([] {});
  });
  for (int i = 0; i < 10; ++i) {
    ChildProcess child([&](Channel&) {
      if (handle("held").acquire_immediately()) _exit(1);
      if (!handle("the child's").run([] {})) _exit(2);
    });
    EXPECT_EQ(child.wait(), 0);
  }
  busy.request_stop();
  EXPECT_TRUE(held.release());
}

TEST_F(RedisTls, ClusterIsReachedOverIt) {
  const std::uint16_t node_port = free_port();
  auto arguments = tls_arguments(certificate, node_port);
  for (const char* each : {"--cluster-enabled", "yes", "--tls-cluster", "yes", "--cluster-port"})
    arguments.emplace_back(each);
  arguments.push_back(std::to_string(free_port()));
  const RedisServer node(arguments);
  node.cli({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"});
  ASSERT_TRUE(eventually(
      [&] {
        return node.cli({"CLUSTER", "INFO"}).find("cluster_state:ok") != std::string::npos;
      },
      30s));
  EXPECT_EQ(complaint("rediss+cluster://" + address(node_port) + "?ca=" + certificate.file()), "");
}

TEST_F(RedisTls, SentinelsAndTheirMasterAreReachedOverIt) {
  const std::uint16_t sentinel_port = free_port();
  auto arguments = tls_arguments(certificate, sentinel_port);
  for (const char* each : {"--sentinel", "--tls-replication", "yes"}) arguments.emplace_back(each);
  const RedisServer sentinel(arguments, 0,
                             "sentinel monitor main 127.0.0.1 " + std::to_string(port) + " 1\n");
  EXPECT_EQ(complaint("rediss+sentinel://" + address(sentinel_port) + "/main?ca=" + certificate.file()), "");
}

}  // namespace
}  // namespace mortise::test
