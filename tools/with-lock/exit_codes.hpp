// What with-lock's exit status means, unless it is the command's own. The numbers are those of sysexits.h and
// of the shell.
#pragma once

namespace with_lock {

inline constexpr int kHeldByAnother = 1;  // unless -E says otherwise
inline constexpr int kUsage = 64;
inline constexpr int kStoreFailed = 69;  // the command was not started
inline constexpr int kSystemFailed = 71;
inline constexpr int kLeaseLost = 75;
inline constexpr int kCannotExecute = 126;
inline constexpr int kNotFound = 127;
inline constexpr int kOfSignal = 128;  // plus the signal's number

}  // namespace with_lock
