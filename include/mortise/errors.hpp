// What can go wrong. Contention is not here: a key that somebody else holds is a value (false), never an
// exception.
#pragma once

#include <stdexcept>
#include <string>
#include <system_error>

namespace mortise {

// What failed in a store (C22). The sentence of the StoreError says what to do about it.
enum class StoreErrc {
  cannot_open = 1,     // the segment's file cannot be opened, made or mapped
  permission_denied,   // it exists, and this user may not use it
  no_space,            // there is no room to make it
  not_a_segment,       // the file is something else: it is left as it is
  incompatible,        // made by another version, build or libc
  foreign_namespace,   // made in another pid or time namespace
  corrupt,             // a segment that contradicts itself
  table_full,          // every slot that may take the key holds a live lease
  too_many_processes,  // every process slot belongs to a live process
  replaced,            // the segment's file was removed or replaced while this process used it
  stalled,             // a process that was stopped in the middle of adding a key is in the way
  in_use,              // a repair needs the store for itself, and processes are attached
  unsupported,         // the store cannot do that
  unreachable,         // a server that cannot be reached, or did not answer in time
  refused,             // a server that answered, and will not do it, or not now
  bad_answer,          // a server whose answer makes no sense
};

const std::error_category& store_category() noexcept;

inline std::error_code make_error_code(StoreErrc code) noexcept {
  return {static_cast<int>(code), store_category()};
}

// The store could not answer. Never means "somebody else holds it", and the guarded function was not called
// (C12).
class StoreError : public std::system_error {
 public:
  StoreError(StoreErrc code, const std::string& sentence)
      : std::system_error(make_error_code(code), sentence) {}
};

// The handle does not hold its lease (any more): it expired, was released, or belongs to the parent process.
class LockNotHeldError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace mortise

template <>
struct std::is_error_code_enum<mortise::StoreErrc> : std::true_type {};
