#include "store/sql/postgresql_listener.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "store/sql/deaf_ear.hpp"
#include "store/sql/postgresql_connection.hpp"
#include "sys/clock.hpp"
#include "sys/file.hpp"
#include "sys/fork.hpp"
#include "sys/process.hpp"
#include "sys/service_thread.hpp"

namespace mortise::sql {

namespace {

using namespace std::chrono_literals;

// Most waits are over by then, and a connection costs more.
constexpr std::chrono::milliseconds kBeforeListening{3};
constexpr std::chrono::milliseconds kLinger{1000};
constexpr std::chrono::milliseconds kReconnect{200};

std::mutex& process_mutex() {
  return sys::process_mutex(sys::ProcessWide::connections);
}

}  // namespace

// What a process has of it: the thread, and who listens.
class PostgresqlListener::Ward {
 public:
  explicit Ward(const Options& options)
      : options_(options), wake_up_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!wake_up_) throw std::system_error(errno, std::generic_category(), "eventfd");
  }

  [[nodiscard]] bool is_of_this_process() const { return incarnation_ == sys::incarnation(); }

  void add(PayloadEar& ear, const std::string& payload) {
    const std::lock_guard guard(mutex_);
    ears_.emplace(payload, &ear);
    if (is_running_ || is_stopping_) return;
    if (thread_.joinable()) thread_.join();  // it has said that it ends
    thread_ = sys::start_service_thread([this] { listen(); });
    is_running_ = true;
  }

  void remove(PayloadEar& ear, const std::string& payload) {
    const std::lock_guard guard(mutex_);
    const auto [first, last] = ears_.equal_range(payload);
    ears_.erase(std::find_if(first, last, [&](const auto& each) { return each.second == &ear; }));
    last_heard_ = sys::Clock::now();
  }

  // Joins the thread. No thread is made any more.
  void stop() {
    {
      const std::lock_guard guard(mutex_);
      is_stopping_ = true;
    }
    eventfd_write(wake_up_.get(), 1);
    if (thread_.joinable()) thread_.join();
  }

  std::mutex& mutex() { return mutex_; }

 private:
  void listen() {
    while (is_wanted()) {
      try {
        PostgresqlConnection connection(options_, sys::deadline_after(options_.connect_timeout));
        connection.run(std::string("LISTEN ").append(kChannel), sys::deadline_after(options_.timeout));
        wake_all();  // what was released before
        while (is_wanted()) hear(connection);
      } catch (const PostgresqlFailure&) {
        wait(-1, kReconnect);
      } catch (const std::bad_alloc&) {
        wait(-1, kReconnect);
      }
    }
  }

  // When it says no, the thread ends: whoever comes after makes another.
  bool is_wanted() {
    const std::lock_guard guard(mutex_);
    const bool is_idle = ears_.empty() && sys::Clock::now() >= last_heard_ + kLinger;
    if (is_stopping_ || is_idle) is_running_ = false;
    return is_running_;
  }

  void hear(PostgresqlConnection& connection) {
    wait(connection.socket(), kLinger);
    for (const std::string& payload : connection.take_notifications()) wake(payload);
  }

  void wait(int socket, std::chrono::milliseconds time) const {
    std::array<pollfd, 2> files = {{{wake_up_.get(), POLLIN, 0}, {socket, POLLIN, 0}}};
    poll(files.data(), files.size(), static_cast<int>(time.count()));
  }

  // All of them: whoever is woken may be on its way out.
  void wake(const std::string& payload);
  void wake_all();

  const Options options_;
  const std::uint64_t incarnation_ = sys::incarnation();
  const sys::FileDescriptor wake_up_;  // readable when it is to stop
  std::mutex mutex_;
  std::multimap<std::string, PayloadEar*> ears_;
  sys::TimePoint last_heard_;
  bool is_running_ = false;
  bool is_stopping_ = false;
  std::thread thread_;
};

class PostgresqlListener::PayloadEar final : public Ear {
 public:
  PayloadEar(PostgresqlListener& listener, std::string payload)
      : listener_(listener), payload_(std::move(payload)) {}
  ~PayloadEar() override {
    if (ward_ != nullptr) ward_->remove(*this, payload_);
  }

  // The first time it is deaf; the second time it begins to listen, and its waiter looks once more.
  Woken sleep_until(sys::TimePoint until, const std::stop_token& stop) override {
    if (!is_patient_) {
      is_patient_ = true;
      return DeafEar().sleep_until(std::min(until, sys::deadline_after(kBeforeListening)), stop);
    }
    if (ward_ == nullptr) {
      Ward& ward = listener_.ward();
      ward.add(*this, payload_);
      ward_ = &ward;
      return stop.stop_requested() ? Woken::by_stop : Woken::by_time;
    }
    std::unique_lock guard(ward_->mutex());
    heard_.wait_until(guard, stop, until, [this] { return has_heard_; });
    const bool is_news = std::exchange(has_heard_, false);
    if (stop.stop_requested()) return Woken::by_stop;
    return is_news ? Woken::by_news : Woken::by_time;
  }

  // Under the ward's mutex.
  void wake() {
    has_heard_ = true;
    heard_.notify_one();
  }

 private:
  PostgresqlListener& listener_;
  const std::string payload_;
  bool is_patient_ = false;
  Ward* ward_ = nullptr;
  std::condition_variable_any heard_;
  bool has_heard_ = false;
};

void PostgresqlListener::Ward::wake(const std::string& payload) {
  const std::lock_guard guard(mutex_);
  const auto [first, last] = ears_.equal_range(payload);
  std::for_each(first, last, [](const auto& each) { each.second->wake(); });
}

void PostgresqlListener::Ward::wake_all() {
  const std::lock_guard guard(mutex_);
  for (const auto& [payload, ear] : ears_) ear->wake();
}

PostgresqlListener::~PostgresqlListener() {
  if (ward_ == nullptr || !ward_->is_of_this_process()) return;
  ward_->stop();
  delete ward_;
}

std::unique_ptr<Ear> PostgresqlListener::ear(const std::string& payload) {
  return std::make_unique<PayloadEar>(*this, payload);
}

// An inherited one is left as it is: its mutex may be locked for ever, and its thread is not here.
PostgresqlListener::Ward& PostgresqlListener::ward() {
  const std::lock_guard guard(process_mutex());
  if (ward_ == nullptr || !ward_->is_of_this_process()) ward_ = new Ward(options_);
  return *ward_;
}

}  // namespace mortise::sql
