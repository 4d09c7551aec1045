#include "sys/file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"

namespace mortise::sys {
namespace {

using test::ChildProcess;
using test::TemporaryDirectory;

TEST(UnpublishedFile, HasNoNameUntilItIsPublished) {
  const TemporaryDirectory directory;
  auto file = UnpublishedFile::create(directory.file("f"));
  ASSERT_TRUE(file);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
  EXPECT_EQ(file->publish(), 0);
  EXPECT_TRUE(std::filesystem::exists(directory.file("f")));
}

TEST(UnpublishedFile, NeverReplacesAnother) {
  const TemporaryDirectory directory;
  auto first = UnpublishedFile::create(directory.file("f"));
  auto second = UnpublishedFile::create(directory.file("f"));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->publish(), 0);
  EXPECT_EQ(second->publish(), EEXIST);
}

TEST(UnpublishedFile, TellsWhyItCannotBeMade) {
  EXPECT_FALSE(UnpublishedFile::create("/no/such/directory/f"));
  EXPECT_EQ(errno, ENOENT);
}

class ByteLock : public testing::Test {
 protected:
  TemporaryDirectory directory_;
  FileDescriptor file_{open(directory_.file("f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
  FileDescriptor life_ = reopen(file_.get(), O_RDWR);
};

TEST_F(ByteLock, IsSeenThroughOtherDescriptorsOnly) {
  ASSERT_TRUE(try_lock_byte(life_.get(), 7));
  EXPECT_EQ(is_byte_locked(file_.get(), 7), true);
  EXPECT_EQ(is_byte_locked(life_.get(), 7), false);
  EXPECT_EQ(is_byte_locked(file_.get(), 8), false);
}

TEST_F(ByteLock, IsSeenThroughAReadOnlyDescriptor) {
  ASSERT_TRUE(try_lock_byte(life_.get(), 7));
  const FileDescriptor reader = reopen(file_.get(), O_RDONLY);
  EXPECT_EQ(is_byte_locked(reader.get(), 7), true);
}

TEST_F(ByteLock, ExcludesOtherDescriptors) {
  ASSERT_TRUE(try_lock_byte(life_.get(), 7));
  EXPECT_FALSE(try_lock_byte(file_.get(), 7));
  unlock_byte(life_.get(), 7);
  EXPECT_TRUE(try_lock_byte(file_.get(), 7));
}

TEST_F(ByteLock, GoesWithItsDescriptorAndNotWithAnother) {
  ASSERT_TRUE(try_lock_byte(life_.get(), 7));
  { const FileDescriptor other = reopen(file_.get(), O_RDWR); }
  EXPECT_EQ(is_byte_locked(file_.get(), 7), true);
  life_.reset();
  EXPECT_EQ(is_byte_locked(file_.get(), 7), false);
}

TEST_F(ByteLock, OfADeadProcessIsGoneWhileItIsAZombie) {
  ChildProcess child([&](test::Channel& parent) {
    const FileDescriptor own = reopen(file_.get(), O_RDWR);
    parent.send(try_lock_byte(own.get(), 7) ? "locked" : "failed");
    (void)parent.receive();
  });
  ASSERT_EQ(child.receive(), "locked");
  EXPECT_EQ(is_byte_locked(file_.get(), 7), true);
  child.signal(SIGKILL);
  child.await_death();
  EXPECT_EQ(is_byte_locked(file_.get(), 7), false);
}

}  // namespace
}  // namespace mortise::sys
