#include "crash/tracee.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace mortise::crash {

namespace {

constexpr std::size_t kInstructionPointer = offsetof(user_regs_struct, rip);
constexpr std::size_t kStackPointer = offsetof(user_regs_struct, rsp);
constexpr std::uint64_t kBreakpoint = 0xcc;

// The vDSO: a few pages of code that the kernel maps into every process.
bool is_the_kernels_code(std::uint64_t address) {
  constexpr std::uint64_t kAtMost = 0x4000;
  static const std::uint64_t begin = getauxval(AT_SYSINFO_EHDR);
  return address >= begin && address < begin + kAtMost;
}

long trace(__ptrace_request request, pid_t pid, std::uint64_t address = 0, std::uint64_t data = 0) {
  errno = 0;
  const long answer = ptrace(request, pid, reinterpret_cast<void*>(address), reinterpret_cast<void*>(data));
  if (answer == -1 && errno != 0) throw std::system_error(errno, std::generic_category(), "ptrace");
  return answer;
}

void stop_here() {
  asm volatile("int3");
}

// What the child did last, without taking note of it: nullopt when it is still running.
std::optional<siginfo_t> look(pid_t pid, int flags) {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WSTOPPED | WNOWAIT | flags) != 0) {
    throw std::system_error(errno, std::generic_category(), "waitid");
  }
  return info.si_pid == 0 ? std::nullopt : std::optional(info);
}

// An instruction that is replaced by a trap, as long as this object lives.
class Breakpoint {
 public:
  Breakpoint(pid_t pid, std::uint64_t address)
      : pid_(pid),
        address_(address),
        original_(static_cast<std::uint64_t>(trace(PTRACE_PEEKTEXT, pid, address))) {
    trace(PTRACE_POKETEXT, pid_, address_, (original_ & ~std::uint64_t{0xff}) | kBreakpoint);
  }
  Breakpoint(const Breakpoint&) = delete;
  Breakpoint& operator=(const Breakpoint&) = delete;
  ~Breakpoint() {
    ptrace(PTRACE_POKETEXT, pid_, reinterpret_cast<void*>(address_), reinterpret_cast<void*>(original_));
  }

 private:
  pid_t pid_;
  std::uint64_t address_;
  std::uint64_t original_;
};

}  // namespace

std::string Moment::text() const {
  switch (kind) {
    case Kind::asleep:
      return "asleep";
    case Kind::returned:
      return "after it returned";
    case Kind::before_instruction:
      break;
  }
  return "after " + std::to_string(boundary) + " instructions";
}

std::string why_tracing_is_refused() {
  test::ChildProcess child([](test::Channel&) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(errno);
  });
  const int error = child.wait();
  return error == 0 ? std::string() : "ptrace: " + std::generic_category().message(error);
}

Tracee::Tracee(const Body& body) : child_([&body, this](test::Channel&) { run(body, *marks_); }) {
  await_stop();
  trace(PTRACE_SETOPTIONS, pid(), 0, PTRACE_O_EXITKILL);
}

void Tracee::run(const Body& body, Marks& marks) {
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) throw std::runtime_error("cannot be traced");
  body.prepare();
  stop_here();
  body.operate();
  marks.returned = true;
  stop_here();
  body.conclude();
}

std::uint64_t Tracee::next_instruction() const {
  return static_cast<std::uint64_t>(trace(PTRACE_PEEKUSER, pid(), kInstructionPointer));
}

void Tracee::resume(int request) const {
  trace(static_cast<__ptrace_request>(request), pid());
}

void Tracee::await_stop() {
  // A child that may be asleep is looked at again and again; for any other the kernel tells.
  auto info = look(pid(), nap_ ? WNOHANG : 0);
  while (!info) {
    if (nap_->is_asleep()) nap_->wake();
    sched_yield();
    info = look(pid(), nap_ ? WNOHANG : 0);
  }
  if (info->si_code != CLD_TRAPPED || info->si_status != SIGTRAP) {
    throw std::runtime_error("the victim ended by itself, with code or signal " +
                             std::to_string(info->si_status));
  }
}

void Tracee::step() {
  resume(PTRACE_SINGLESTEP);
  await_stop();
  if (is_the_kernels_code(next_instruction())) leave_the_kernels_code();
}

// It was called just now: on top of the stack is where it returns to.
void Tracee::leave_the_kernels_code() {
  const auto stack = static_cast<std::uint64_t>(trace(PTRACE_PEEKUSER, pid(), kStackPointer));
  run_to_breakpoint(static_cast<std::uint64_t>(trace(PTRACE_PEEKDATA, pid(), stack)));
}

bool Tracee::run_to(const Moment& moment) {
  switch (moment.kind) {
    case Moment::Kind::asleep:
      return run_to_sleep();
    case Moment::Kind::returned:
      return run_to_return();
    case Moment::Kind::before_instruction:
      break;
  }
  for (unsigned seen = 0; run_to_breakpoint(moment.address); ++seen) {
    if (seen == moment.occurrence) return true;
    step();
    if (has_returned()) return false;
  }
  return false;
}

bool Tracee::run_to_breakpoint(std::uint64_t address) {
  {
    const Breakpoint breakpoint(pid(), address);
    resume(PTRACE_CONT);
    await_stop();
  }
  if (has_returned()) return false;
  if (next_instruction() != address + 1) throw std::runtime_error("the victim stopped somewhere else");
  trace(PTRACE_POKEUSER, pid(), kInstructionPointer, address);
  return true;
}

bool Tracee::run_to_return() {
  resume(PTRACE_CONT);
  await_stop();
  return has_returned();
}

// The child is not stopped then, but sleeps.
bool Tracee::run_to_sleep() {
  resume(PTRACE_CONT);
  while (!nap_->is_asleep()) {
    if (look(pid(), WNOHANG)) return false;
    sched_yield();
  }
  return true;
}

void Tracee::stop() {
  child_.signal(SIGSTOP);
  look(pid(), 0);
}

bool Tracee::conclude(std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  bool running = false;
  for (;;) {
    if (!running) resume(PTRACE_CONT);
    running = true;
    const auto info = look(pid(), WNOHANG);
    if (info && info->si_code == CLD_EXITED) return child_.wait() == 0;
    if (info && info->si_code != CLD_TRAPPED) return false;
    if (info) running = false;
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

}  // namespace mortise::crash
