#include "free_times.hpp"

#include <gtest/gtest.h>

namespace mortise::storm {
namespace {

using namespace std::chrono_literals;

void expect_longest(const FreeTimes& free, Interval during, Interval expected) {
  const Interval longest = free.longest_within(during);
  EXPECT_EQ(longest.from, expected.from);
  EXPECT_EQ(longest.until, expected.until);
}

TEST(FreeTimes, WhatNobodyHeldIsFreeThroughout) {
  expect_longest(FreeTimes({}), {2s, 5s}, {2s, 5s});
}

TEST(FreeTimes, LongestOfTheGapsBetweenLeases) {
  const FreeTimes free({{20s, 21s}, {3s, 5s}, {4s, 8s}, {10s, 11s}});
  expect_longest(free, {0s, 30s}, {11s, 20s});
  expect_longest(free, {0s, 12s}, {0s, 3s});
  expect_longest(free, {5s, 12s}, {8s, 10s});
  expect_longest(free, {18s, 22s}, {18s, 20s});
}

TEST(FreeTimes, NoneWhileTheKeyIsHeld) {
  const FreeTimes free({{3s, 8s}, {8s, 9s}});
  const Interval longest = free.longest_within({4s, 9s});
  EXPECT_EQ(longest.from, longest.until);
}

TEST(FreeTimes, NoneAfterALeaseWithoutEnd) {
  const FreeTimes free({{3s, kNever}, {5s, 6s}});
  expect_longest(free, {0s, 100s}, {0s, 3s});
}

}  // namespace
}  // namespace mortise::storm
