// What the Redis store adds to the server's own time: beside the same commands written by hand, and beside
// the quickest ways in which the server itself hands something from one process to another.
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <mortise/inspect.hpp>
#include <mortise/mortise.hpp>
#include <mortise/redis_lock_store.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "support/comparison.hpp"
#include "support/exclusion.hpp"
#include "support/hand_off.hpp"
#include "support/machine.hpp"
#include "support/options.hpp"
#include "support/report.hpp"
#include "support/samples.hpp"
#include "support/semaphore.hpp"
#include "support/team.hpp"
#include "support/temporary.hpp"

namespace mortise::bench {

namespace {

using namespace std::chrono_literals;

struct FreeReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using HandReply = std::unique_ptr<redisReply, FreeReply>;

// By hand.
class Hiredis {
 public:
  explicit Hiredis(const std::string& socket) : context_(redisConnectUnix(socket.c_str())) {
    if (!context_ || context_->err != 0) throw std::runtime_error("cannot connect to the server");
  }
  HandReply ask(const std::vector<std::string>& words) {
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    for (const std::string& word : words) {
      texts.push_back(word.data());
      sizes.push_back(word.size());
    }
    return checked(
        redisCommandArgv(context_.get(), static_cast<int>(words.size()), texts.data(), sizes.data()));
  }
  HandReply receive() {
    void* reply = nullptr;
    redisGetReply(context_.get(), &reply);
    return checked(reply);
  }

 private:
  struct Free {
    void operator()(redisContext* context) const { redisFree(context); }
  };
  static HandReply checked(void* reply) {
    HandReply owned(static_cast<redisReply*>(reply));
    if (!owned || owned->type == REDIS_REPLY_ERROR) throw std::runtime_error("the server failed");
    return owned;
  }
  std::unique_ptr<redisContext, Free> context_;
};

// On a unix socket.
class Server {
 public:
  Server() {
    pid_ = start([this] {
      const int nowhere = open("/dev/null", O_WRONLY);
      dup2(nowhere, STDOUT_FILENO);
      execlp("redis-server", "redis-server", "--port", "0", "--save", "", "--unixsocket",
             file_.path().c_str(), nullptr);
      _exit(127);  // there is none: nobody will answer
    });
    for (int i = 0; i < 1000 && access(file_.path().c_str(), F_OK) != 0; ++i) usleep(10'000);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() { end(pid_); }
  [[nodiscard]] const std::string& socket() const { return file_.path(); }
  [[nodiscard]] std::shared_ptr<LockStore> store() const {
    return std::make_shared<RedisLockStore>("redis+unix:" + socket());
  }

 private:
  TemporaryName file_;
  pid_t pid_ = -1;
};

// The commands that an acquire and a release of the key send, read from the server's monitor.
std::vector<std::vector<std::string>> recorded_commands(const Server& server, Lock& lock) {
  std::ignore = lock.acquire_immediately() && lock.release();  // the scripts are known from now on
  Hiredis monitor(server.socket());
  monitor.ask({"MONITOR"});
  std::ignore = lock.acquire_immediately() && lock.release();
  std::vector<std::vector<std::string>> commands;
  while (commands.size() < 2) {
    // 1690000000.000000 [0 unix:/path] "EVALSHA" "..." ...
    const std::string line = monitor.receive()->str;
    if (line.find("\"EVALSHA\"") == std::string::npos) continue;
    std::vector<std::string> words;
    for (std::size_t begin = line.find('"'); begin != std::string::npos;) {
      const std::size_t last = line.find('"', begin + 1);
      words.push_back(line.substr(begin + 1, last - begin - 1));
      begin = line.find('"', last + 1);
    }
    commands.push_back(words);
  }
  return commands;
}

// The same commands, one after the other.
void measure_uncontended(const Server& server, const Options& options, Report& report) {
  Lock lock = mortise::lock("uncontended", 30s, server.store());
  const auto commands = recorded_commands(server, lock);
  Hiredis hand(server.socket());
  const Comparison comparison(2, options.choose(5U, 3U, 1U), options.choose(5000U, 2000U, 5U),
                              [&](std::size_t contestant) {
                                const auto start = Clock::now();
                                if (contestant == 0) {
                                  std::ignore = lock.acquire_immediately();
                                  lock.release();
                                } else {
                                  hand.ask(commands[0]);
                                  hand.ask(commands[1]);
                                }
                                return Clock::now() - start;
                              });
  report.add({"acquire and release, mortise, p50", "µs", comparison.percentile(0, 50)});
  report.add({"acquire and release, the same two commands by hand, p50", "µs", comparison.percentile(1, 50)});
  report.add({"acquire and release, mortise / by hand, p50", "x", comparison.ratio(0, 1, 50), at_most(1.1)});
}

// The floor: a message to a sleeper. Nothing is acquired.
class ListElement final : public HandOff {
 public:
  explicit ListElement(const Server& server) : hand_(server.socket()) {}
  void give() override { hand_.ask({"RPUSH", "list", "1"}); }
  void receive() override { hand_.ask({"BLPOP", "list", "0"}); }

 private:
  Hiredis hand_;
};

class PublishedMessage final : public HandOff {
 public:
  explicit PublishedMessage(const Server& server) : sender_(server.socket()), receiver_(server.socket()) {
    receiver_.ask({"SUBSCRIBE", "channel"});
  }
  void give() override { sender_.ask({"PUBLISH", "channel", "1"}); }
  void receive() override { receiver_.receive(); }

 private:
  Hiredis sender_;
  Hiredis receiver_;
};

// Of a holder and a waiter.
struct Meeting {
  Semaphore asked;
  Semaphore answered;
  std::atomic<std::size_t> contestant = 0;
  std::atomic<Clock::time_point> received_at{};
};

using HandOffs = std::array<std::unique_ptr<HandOff>, 3>;

HandOffs hand_offs(const Server& server) {
  return {std::make_unique<LeaseHandOff>(server.store()), std::make_unique<ListElement>(server),
          std::make_unique<PublishedMessage>(server)};
}

[[noreturn]] void wait_when_asked(const Server& server, Meeting& meeting) {
  const HandOffs all = hand_offs(server);
  for (;;) {
    meeting.asked.wait();
    HandOff& mine = *all.at(meeting.contestant);
    mine.receive();
    meeting.received_at = Clock::now();
    mine.end();
    meeting.answered.post();
  }
}

void measure_hand_off(const Server& server, const Options& options, Report& report) {
  Shared<Meeting> meeting;
  const pid_t waiter = start([&] { wait_when_asked(server, *meeting); });
  const HandOffs all = hand_offs(server);
  const Comparison comparison(all.size(), options.choose(5U, 3U, 1U), options.choose(500U, 200U, 2U),
                              [&](std::size_t contestant) {
                                all.at(contestant)->take();
                                meeting->contestant = contestant;
                                meeting->asked.post();
                                wait_until_asleep(waiter);
                                const auto given_at = Clock::now();
                                all.at(contestant)->give();
                                meeting->answered.wait();
                                return meeting->received_at.load() - given_at;
                              });
  end(waiter);
  report.add({"release to sleeping waiter, mortise, p50", "µs", comparison.percentile(0, 50)});
  report.add({"RPUSH to BLPOP, p50", "µs", comparison.percentile(1, 50)});
  report.add({"PUBLISH to subscriber, p50", "µs", comparison.percentile(2, 50)});
  report.add(
      {"release to sleeping waiter, mortise / BLPOP, p50", "x", comparison.ratio(0, 1, 50), at_most(1.2)});
}

// Acquires and releases of all threads in a second, each thread with a key of its own.
double pairs_per_second(const std::shared_ptr<LockStore>& store, unsigned threads,
                        std::chrono::milliseconds time) {
  std::atomic<unsigned> pairs = 0;
  const auto start = Clock::now();
  {
    std::vector<std::jthread> team;
    for (unsigned i = 0; i < threads; ++i) {
      team.emplace_back([&, i] {
        Lock lock = mortise::lock("thread " + std::to_string(i), 30s, store);
        while (Clock::now() - start < time) pairs += lock.acquire_immediately() && lock.release() ? 1 : 0;
      });
    }
  }
  return pairs / std::chrono::duration<double>(Clock::now() - start).count();
}

void measure_threads(const Server& server, const Options& options, Report& report) {
  const auto store = server.store();
  const auto time = options.choose(1000ms, 500ms, 10ms);
  std::vector<double> few;
  std::vector<double> many;
  std::vector<double> ratio;
  for (unsigned i = 0; i < options.choose(5U, 3U, 1U); ++i) {
    few.push_back(pairs_per_second(store, 4, time));
    many.push_back(pairs_per_second(store, 64, time));
    ratio.push_back(many.back() / few.back());
  }
  report.add({"acquire and release, 4 threads on one store", "1/s", few});
  report.add({"acquire and release, 64 threads on one store", "1/s", many});
  report.add({"acquire and release, 64 threads / 4 threads", "x", ratio, at_least(0.8)});
}

// Acquires and releases while another process lists all leases, again and again, among a great many keys of
// others.
void measure_listing(const Server& server, const Options& options, Report& report) {
  const std::string foreign = std::to_string(options.choose(1'000'000U, 200'000U, 1'000U));
  Hiredis(server.socket())
      .ask({"EVAL", "for i = 1, ARGV[1] do redis.call('SET', 'foreign:' .. i, i) end", "0", foreign});
  std::vector<Lock> listed;
  for (unsigned i = 0; i < 200; ++i) {
    listed.push_back(mortise::lock("listed " + std::to_string(i), 1h, server.store()));
    must(listed.back().acquire_immediately(), "acquire");
  }
  Lock lock = mortise::lock("beside a list", 30s, server.store());
  const auto p99 = [&] {
    std::vector<float> micros;
    for (unsigned i = 0; i < options.choose(5000U, 2000U, 5U); ++i) {
      micros.push_back(static_cast<float>(in_micros(time_of([&] {
        std::ignore = lock.acquire_immediately();
        lock.release();
      }))));
    }
    return Samples(std::move(micros)).percentile(99) / 1000;
  };
  std::vector<double> alone;
  std::vector<double> beside;
  std::vector<double> rise;
  for (unsigned i = 0; i < options.choose(5U, 3U, 1U); ++i) {
    alone.push_back(p99());
    const pid_t lister = start([&] {
      for (const auto view = open_view("redis+unix:" + server.socket());;)
        must(view->leases().size() >= listed.size(), "a list of all leases");
    });
    beside.push_back(p99());
    end(lister);
    rise.push_back(beside.back() - alone.back());
  }
  report.add({"acquire and release, nobody lists, p99", "ms", alone});
  report.add({"acquire and release, beside a lister, p99", "ms", beside});
  report.add({"acquire and release, p99 added by a lister", "ms", rise, at_most(5)});
}

void measure(const Options& options, Report& report) {
  const Server server;
  measure_uncontended(server, options, report);
  measure_hand_off(server, options, report);
  measure_threads(server, options, report);
  measure_listing(server, options, report);
}

}  // namespace

}  // namespace mortise::bench

int main(int argc, char** argv) {
  return mortise::bench::run("redis", argc, argv, mortise::bench::measure);
}
