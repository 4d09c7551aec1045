#include "segment/failure.hpp"

#include <cerrno>
#include <system_error>

namespace mortise::segment {

void fail(int error, const std::string& what) {
  const std::string reason = what + ": " + std::generic_category().message(error);
  switch (error) {
    case EACCES:
    case EPERM:
    case EROFS:
      throw StoreError(StoreErrc::permission_denied,
                       reason + "; ask its owner for access, or use another segment");
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case ENOMEM:
      throw StoreError(StoreErrc::no_space, reason + "; make room, or ask for fewer slots");
    case ENOENT:
      throw StoreError(StoreErrc::cannot_open, reason + "; make the directory first, or name another one");
    case ELOOP:
      throw StoreError(StoreErrc::not_a_segment, what + ": it is a symbolic link; name the segment itself");
    default:
      throw StoreError(StoreErrc::cannot_open, reason);
  }
}

}  // namespace mortise::segment
