#include "sql/hand_off.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <mortise/mortise.hpp>
#include <stdexcept>
#include <thread>

#include "sql/postgresql_by_hand.hpp"
#include "support/comparison.hpp"
#include "support/exclusion.hpp"
#include "support/hand_off.hpp"
#include "support/machine.hpp"
#include "support/semaphore.hpp"
#include "support/team.hpp"

namespace mortise::bench {

namespace {

using namespace std::chrono_literals;

// These two listen only while they wait: a notification wakes the server's process of everybody who listens.

// A lease that does no more than it must: one thread, which knows that the notification is for it.
class LeaseByHand final : public HandOff {
 public:
  explicit LeaseByHand(const std::string& url) : listening_(url), asking_(url) {}
  void take() override {
    if (!asking_.acquire()) throw std::runtime_error("the lease is not where it should be");
  }
  void give() override { asking_.release(); }
  void listen() override { listening_.execute("LISTEN by_hand"); }
  void receive() override {
    while (!asking_.acquire()) listening_.wait_for_notification();
  }
  void end() override {
    asking_.release();
    listening_.execute("UNLISTEN *");
  }

 private:
  PostgresqlByHand listening_;
  PostgresqlByHand asking_;
};

class Notification final : public HandOff {
 public:
  explicit Notification(const std::string& url) : connection_(url) {}
  void give() override { connection_.execute("NOTIFY nothing_else"); }
  void listen() override { connection_.execute("LISTEN nothing_else"); }
  void receive() override { connection_.wait_for_notification(); }
  void end() override { connection_.execute("UNLISTEN *"); }

 private:
  PostgresqlByHand connection_;
};

using HandOffs = std::array<std::unique_ptr<HandOff>, 3>;
constexpr std::size_t kLease = 0, kLeaseByHand = 1, kNotification = 2, kRoundTrip = 3, kStatement = 4;

HandOffs hand_offs(const std::string& url) {
  return {std::make_unique<LeaseHandOff>(open_store(url)), std::make_unique<LeaseByHand>(url),
          std::make_unique<Notification>(url)};
}

// Of a holder and a waiter.
struct Meeting {
  Semaphore asked;
  Semaphore listening;
  Semaphore answered;
  std::atomic<std::size_t> contestant = 0;
  std::atomic<Clock::time_point> received_at{};
};

[[noreturn]] void wait_when_asked(const std::string& url, Meeting& meeting) {
  const HandOffs all = hand_offs(url);
  for (;;) {
    meeting.asked.wait();
    HandOff& mine = *all.at(meeting.contestant);
    mine.listen();
    meeting.listening.post();
    mine.receive();
    meeting.received_at = Clock::now();
    mine.end();
    meeting.answered.post();
  }
}

Clock::duration time_of_a_hand_off(HandOff& mine, Meeting& meeting, pid_t waiter) {
  mine.take();
  meeting.asked.post();
  meeting.listening.wait();
  std::this_thread::sleep_for(20ms);  // a lease's waiter has found the key held by then, and listens itself
  wait_until_asleep(waiter);
  const auto given_at = Clock::now();
  mine.give();
  meeting.answered.wait();
  return meeting.received_at.load() - given_at;
}

}  // namespace

void measure_sql_hand_off(const std::string& url, const Options& options, Report& figures) {
  Shared<Meeting> meeting;
  const pid_t waiter = start([&] { wait_when_asked(url, *meeting); });
  const HandOffs all = hand_offs(url);
  PostgresqlByHand hand(url);
  const Comparison comparison(5, options.choose(5U, 3U, 1U), options.choose(100U, 50U, 2U),
                              [&](std::size_t contestant) {
                                if (contestant == kRoundTrip)
                                  return time_of([&] { hand.execute("SELECT 1"); });
                                if (contestant == kStatement) {
                                  const auto time = time_of([&] { hand.acquire(); });
                                  hand.release();
                                  return time;
                                }
                                meeting->contestant = contestant;
                                return time_of_a_hand_off(*all.at(contestant), *meeting, waiter);
                              });
  end(waiter);
  figures.add({"hand-off, PostgreSQL, mortise, p50", "µs", comparison.percentile(kLease, 50)});
  figures.add({"hand-off, PostgreSQL, by hand, p50", "µs", comparison.percentile(kLeaseByHand, 50)});
  figures.add({"NOTIFY to a listener, p50", "µs", comparison.percentile(kNotification, 50)});
  figures.add({"an acquire by hand, p50", "µs", comparison.percentile(kStatement, 50)});
  figures.add({"SELECT 1, p50", "µs", comparison.percentile(kRoundTrip, 50)});
  figures.add(
      {"hand-off, PostgreSQL, mortise / by hand, p50", "x", comparison.ratio(kLease, kLeaseByHand, 50)});
  figures.add(
      {"hand-off, PostgreSQL, mortise / SELECT 1, p50", "x", comparison.ratio(kLease, kRoundTrip, 50)});
  figures.add({"hand-off, PostgreSQL, mortise / an acquire by hand, p50", "x",
               comparison.ratio(kLease, kStatement, 50), at_most(3)});
}

}  // namespace mortise::bench
