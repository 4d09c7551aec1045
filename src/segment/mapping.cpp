#include "segment/mapping.hpp"

#include "segment/failure.hpp"

namespace mortise::segment {

namespace {

namespace ipc = boost::interprocess;

// What Boost.Interprocess maps: a descriptor that we opened ourselves, with the flags that it needs.
class Mappable {
 public:
  explicit Mappable(int fd) : fd_(fd) {}
  [[nodiscard]] ipc::mapping_handle_t get_mapping_handle() const { return {fd_, false}; }

 private:
  int fd_;
};

}  // namespace

Mapping map(int fd, std::uint64_t bytes, Access access, const std::string& name) {
  try {
    return {Mappable(fd), access == Access::read_write ? ipc::read_write : ipc::read_only, 0, bytes};
  } catch (const ipc::interprocess_exception& error) {
    fail(error.get_native_error(), "cannot map " + name);
  }
}

}  // namespace mortise::segment
