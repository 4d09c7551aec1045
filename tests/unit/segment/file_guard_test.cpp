#include "segment/file_guard.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/types.h>

#include "support/temporary_directory.hpp"
#include "sys/file.hpp"

namespace mortise::segment {
namespace {

using Outcome = FileGuard::Outcome;

// The kernel would let the same open file description in again.
TEST(FileGuard, AdmitsOneThreadOfAProcess) {
  const test::TemporaryDirectory directory;
  const sys::FileDescriptor file(open(directory.file("guarded").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_TRUE(file);
  FileGuard guard;
  constexpr off_t kByte = 4711;
  ASSERT_EQ(guard.try_lock(file.get(), kByte), Outcome::locked);
  EXPECT_EQ(guard.try_lock(file.get(), kByte), Outcome::busy);
  EXPECT_EQ(guard.try_lock(file.get(), kByte + 1), Outcome::locked);
  guard.unlock(file.get(), kByte);
  EXPECT_EQ(guard.try_lock(file.get(), kByte), Outcome::locked);
}

}  // namespace
}  // namespace mortise::segment
