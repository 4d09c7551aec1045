#include "store/redis/undo.hpp"

#include <chrono>
#include <exception>
#include <utility>

#include "sys/service_thread.hpp"

namespace mortise::store::redis {

Undo::~Undo() {
  {
    const std::lock_guard guard(mutex_);
    is_stopped_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

// No memory, no thread: then the lease stays until its expiry, as that of a dead process does.
void Undo::later(KeyNames names, std::string owner, sys::TimePoint until) noexcept {
  try {
    const std::lock_guard guard(mutex_);
    tasks_.push_back({std::move(names), std::move(owner), until});
    if (is_running_) return;
    if (thread_.joinable()) thread_.join();  // it has nothing left to do but to end
    thread_ = sys::start_service_thread([this] { run(); });
    is_running_ = true;
  } catch (const std::exception&) {
    return;
  }
}

void Undo::run() {
  constexpr auto kPause = std::chrono::milliseconds(100);
  std::unique_lock lock(mutex_);
  while (!is_stopped_ && !tasks_.empty()) {
    const Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    Answer answer = client_.run(kRelease, task.names, client_.deadline(), task.owner, Client::IsRepeated{});
    client_.give_back(std::move(answer.connection));
    lock.lock();
    if (answer.reply.kind == Reply::Kind::integer || sys::Clock::now() >= task.until) continue;
    tasks_.push_back(task);
    changed_.wait_for(lock, kPause, [this] { return is_stopped_; });
  }
  is_running_ = false;
}

}  // namespace mortise::store::redis
