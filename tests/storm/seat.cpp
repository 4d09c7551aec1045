#include "seat.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "describe.hpp"

namespace mortise::storm {

namespace {

constexpr int kWorkerNiceness = 5;

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

}  // namespace

void Seat::start(const WorkerOrders& orders) {
  orders_ = orders;
  life_ = {};
  life_.born = now();
  running_since_ = life_.born;
  const pid_t supervisor = getpid();
  pid_ = fork();
  if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "cannot fork a worker");
  if (pid_ > 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != supervisor) _exit(1);
  // The supervisor is to be on time.
  setpriority(PRIO_PROCESS, 0, kWorkerNiceness);
  work(orders_, world_, journal_);
}

void Seat::kill() {
  life_.condemned = now();
  ::kill(pid_, SIGKILL);
}

void Seat::stop(Time until) {
  life_.stops.push_back({now(), kNever});
  ::kill(pid_, SIGSTOP);
  resume_at_ = until;
}

void Seat::resume_if_due() {
  if (!is_stopped() || now() < resume_at_) return;
  ::kill(pid_, SIGCONT);
  running_since_ = now();
  life_.stops.back().until = running_since_;
  resume_at_ = kNever;
}

ProcessLife Seat::bury() {
  life_.dead = now();
  if (is_stopped()) life_.stops.back().until = life_.dead;
  pid_ = 0;
  resume_at_ = kNever;
  return std::exchange(life_, {});
}

Operation* Seat::last_call() const {
  Operation* last = journal_.last();
  return last != nullptr && last->process == orders_.process ? last : nullptr;
}

std::optional<Kind> Seat::activity() const {
  Operation* last = last_call();
  return last != nullptr && Journal::returned_so_far(*last) == kNever ? std::optional(last->kind)
                                                                      : std::nullopt;
}

Time Seat::overdue() const {
  if (is_stopped()) return {};
  Time due = running_since_;
  if (Operation* last = last_call()) {
    const Time returned = Journal::returned_so_far(*last);
    due = std::max(due, returned == kNever ? last->invoked + last->timeout : returned);
  }
  return std::max(now() - due, Time{});
}

std::string Seat::describe_activity() const {
  const std::string proc = "/proc/" + std::to_string(pid_) + "/";
  const Operation* last = last_call();
  return "process " + std::to_string(orders_.process) + " (pid " + std::to_string(pid_) +
         "): " + (last == nullptr ? "has called nothing yet" : describe(*last)) + "; wchan " +
         content_of(proc + "wchan") + "; syscall " + content_of(proc + "syscall") + "stack\n" +
         content_of(proc + "stack");
}

}  // namespace mortise::storm
