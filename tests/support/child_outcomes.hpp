// For children that report what happened to them, and that mount file systems of their own.
#pragma once

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <exception>
#include <functional>
#include <string>

#include "mortise/errors.hpp"

namespace mortise::test {

// "no error", or the message of the StoreError's code.
inline std::string outcome_of(const std::function<void()>& operation) {
  try {
    operation();
    return "no error";
  } catch (const StoreError& error) {
    return error.code().message();
  } catch (const std::exception& error) {
    return std::string("not a StoreError: ") + error.what();
  }
}

// What this process mounts from now on is seen by itself only. False: the kernel refuses.
inline bool has_private_mounts() {
  const int flags = geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER;
  return unshare(flags) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

}  // namespace mortise::test
