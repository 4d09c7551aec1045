// Where the workers of one seat write down what they do. It lies in memory of its own that outlives them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <vector>

#include "history.hpp"

namespace mortise::storm {

// One writer at a time, and readers at any time. A writer that is killed leaves whole operations, and perhaps
// one that is open.
class Journal {
 public:
  static constexpr std::size_t kCapacity = 1U << 16U;

  // Writes down a call that is about to be made, and the time. nullptr: there is no room.
  Operation* invoke(const Operation& call) noexcept {
    const std::size_t next = count_.load(std::memory_order_relaxed);
    if (next == kCapacity) return nullptr;
    Operation& written = operations_[next];
    written = call;
    written.invoked = now();
    count_.store(next + 1, std::memory_order_release);
    return &written;
  }

  // Writes down what the call answered, and the time.
  static void finish(Operation& call, Result result, std::uint64_t fence = 0) noexcept {
    const Time returned = now();
    call.result = result;
    call.fence = fence;
    std::atomic_ref(call.returned).store(returned, std::memory_order_release);
  }

  // What is written in a journal whose writer is dead. An answer without its time counts for nothing.
  [[nodiscard]] std::vector<Operation> read() const {
    const auto begin = operations_.begin();
    std::vector<Operation> calls(begin,
                                 begin + static_cast<std::ptrdiff_t>(count_.load(std::memory_order_acquire)));
    for (Operation& call : calls) {
      if (call.is_open()) call.result = Result::none;
    }
    return calls;
  }

  // The last call, as far as it is written; nullptr when there is none.
  Operation* last() noexcept {
    const std::size_t count = count_.load(std::memory_order_acquire);
    return count == 0 ? nullptr : &operations_[count - 1];
  }
  // kNever: it is open still.
  static Time returned_so_far(Operation& call) noexcept {
    return std::atomic_ref(call.returned).load(std::memory_order_acquire);
  }

  void clear() noexcept { count_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<std::size_t> count_ = 0;
  std::array<Operation, kCapacity> operations_;
};

}  // namespace mortise::storm
