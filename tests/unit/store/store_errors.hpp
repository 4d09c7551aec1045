// Which StoreError is it?
#pragma once

#include <gmock/gmock.h>

#include "mortise/errors.hpp"

namespace mortise::test {

// EXPECT_THAT(operation, FailsWith(StoreErrc::no_space))
MATCHER_P(FailsWith, code, "fails with \"" + make_error_code(code).message() + "\"") {
  try {
    arg();
  } catch (const StoreError& error) {
    *result_listener << "which throws: " << error.what();
    return error.code() == code;
  }
  *result_listener << "which throws no StoreError";
  return false;
}

}  // namespace mortise::test
