#include "store/sql/sweeper.hpp"

#include <array>
#include <chrono>
#include <exception>
#include <limits>

#include "store/sql/numbers.hpp"
#include "sys/entropy.hpp"

namespace mortise::sql {

namespace {

constexpr std::int64_t kRows = 256;
constexpr int kShare = 20;
constexpr std::chrono::milliseconds kLongestPause{1000};

}  // namespace

// Processes that live shorter than the pause do their share, too: some of them begin with it.
Sweeper::Sweeper(Database& database)
    : database_(database),
      due_(sys::Clock::now() +
           std::chrono::milliseconds(sys::thread_random() % static_cast<unsigned>(kLongestPause.count()))) {}

void Sweeper::sweep_if_due() noexcept {
  const std::unique_lock guard(mutex_, std::try_to_lock);
  if (!guard || !sys::has_come(due_)) return;
  const sys::TimePoint start = sys::Clock::now();
  std::size_t removed = 0;
  try {
    removed = sweep_batch(cursor_).removed;
  } catch (const std::exception&) {
    cursor_.clear();
  }
  const sys::TimePoint end = sys::Clock::now();
  due_ = end + (removed > 0 ? (kShare - 1) * (end - start) : std::chrono::nanoseconds(kLongestPause));
}

std::size_t Sweeper::sweep_all() {
  std::string cursor;
  for (std::size_t removed = 0;;) {
    const Batch batch = sweep_batch(cursor);
    removed += batch.removed;
    if (batch.is_last) return removed;
  }
}

Sweeper::Batch Sweeper::sweep_batch(std::string& cursor) {
  const auto survey = database_.run(Query::survey, std::array<Parameter, 2>{cursor, kRows}).rows.at(0);
  const std::string& last = survey[1];
  std::size_t removed = 0;
  if (to_number(survey[2]) > 0)
    removed = database_.run(Query::sweep, std::array<Parameter, 2>{cursor, last}).rows.size();
  const bool is_last = to_number(survey[0]) < kRows;
  cursor = is_last ? std::string() : last;
  return {is_last, removed};
}

}  // namespace mortise::sql
