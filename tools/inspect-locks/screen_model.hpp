// What the screen of `top` shows: which leases, in which order.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "cells.hpp"
#include "grid.hpp"
#include "mortise/inspect.hpp"

namespace inspect_locks {

enum class Order { contended, held, waited, left, key };
const char* name_of(Order order);

class ScreenModel {
 public:
  using Clock = std::chrono::steady_clock;

  void update(std::vector<mortise::LeaseInfo> leases, Clock::time_point now);
  void order_by(Order order) { order_ = order; }
  // Only keys whose text contains it.
  void filter_by(std::string part) { filter_ = std::move(part); }

  [[nodiscard]] Order order() const { return order_; }
  [[nodiscard]] const std::string& filter() const { return filter_; }
  // The headings, and a row for each lease that passes the filter.
  [[nodiscard]] std::vector<Row> rows(Holders holders) const;

 private:
  struct Shown {
    mortise::LeaseInfo lease;
    std::chrono::milliseconds waited;  // that somebody has been seen to wait for the key, without a break
  };
  [[nodiscard]] bool comes_before(const Shown& a, const Shown& b) const;

  std::vector<Shown> leases_;
  std::map<std::string, Clock::time_point> waited_since_;
  Order order_ = Order::contended;
  std::string filter_;
};

}  // namespace inspect_locks
