// How the segment layer fails: StoreErrors that name the segment, what is wrong and what to do.
#pragma once

#include <string>

#include "mortise/errors.hpp"

namespace mortise::segment {

// The one place where errno becomes a StoreError.
[[noreturn]] void fail(int error, const std::string& what);

[[noreturn]] inline void refuse(StoreErrc code, const std::string& name, const std::string& reason) {
  throw StoreError(code, name + " " + reason);
}

}  // namespace mortise::segment
