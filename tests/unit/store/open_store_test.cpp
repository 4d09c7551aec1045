// Store URLs: what they open, and what is refused with its name.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "mortise/mortise.hpp"
#include "support/temporary_directory.hpp"

namespace mortise {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::ThrowsMessage;

class OpenStore : public testing::Test {
 protected:
  static bool share(const std::shared_ptr<LockStore>& a, const std::shared_ptr<LockStore>& b) {
    const OwnerToken owner = OwnerToken::generate();
    EXPECT_TRUE(a->acquire("k", owner, 20s));
    const bool seen = b->is_held_by("k", owner);
    EXPECT_TRUE(a->release("k", owner));
    return seen;
  }
  static unsigned mode_of(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(stat(path.c_str(), &status), 0);
    return status.st_mode & 07777U;
  }

  test::TemporaryDirectory directory;
  std::string path = directory.file("segment");
};

TEST_F(OpenStore, OfOnePathIsOneStore) {
  EXPECT_TRUE(share(open_store("shm:" + path), open_store("shm:" + path)));
  EXPECT_TRUE(share(open_store("shm:" + path), std::make_shared<ShmLockStore>(path)));
  EXPECT_FALSE(share(open_store("shm:" + path), open_store("shm:" + directory.file("other"))));
}

TEST_F(OpenStore, OfOneNameIsOneStore) {
  const std::string name = "test-" + std::to_string(getpid());
  EXPECT_TRUE(share(open_store("shm:" + name), open_store("shm:" + name + "?slots=64")));
  EXPECT_TRUE(std::filesystem::remove("/dev/shm/mortise." + name));
}

TEST_F(OpenStore, OfMemoryIsANewStoreEachTime) {
  const auto store = open_store("memory:");
  EXPECT_TRUE(share(store, store));
  EXPECT_FALSE(share(store, open_store("memory:")));
}

TEST_F(OpenStore, OptionsAreUsedWhenTheSegmentIsMade) {
  const mode_t umask_before = umask(077);
  std::ignore = open_store("shm:" + path + "?slots=64&processes=2&mode=0664");
  umask(umask_before);
  EXPECT_EQ(mode_of(path), 0664U) << "whatever the umask";
  const auto size = std::filesystem::file_size(path);
  std::ignore = open_store("shm:" + path + "?slots=65536&mode=0600");
  EXPECT_EQ(mode_of(path), 0664U) << "one that exists is used as it is";
  EXPECT_EQ(std::filesystem::file_size(path), size);
  std::ignore = open_store("shm:" + directory.file("larger") + "?slots=65536");
  EXPECT_GT(std::filesystem::file_size(directory.file("larger")), 100 * size);
}

TEST_F(OpenStore, SegmentIsPrivateUnlessAskedOtherwise) {
  const mode_t umask_before = umask(0);
  std::ignore = open_store("shm:" + path);
  umask(umask_before);
  EXPECT_EQ(mode_of(path), 0600U);
}

struct BadUrl {
  std::string url;
  std::string named;  // what the error must name
};

TEST_F(OpenStore, RefusesABadUrlAndNamesWhatIsWrong) {
  const std::string shm = "shm:" + path;
  const std::vector<BadUrl> bad_urls = {
      {"", "scheme"},
      {"segment", "segment"},
      {"/dev/shm/segment", "/dev/shm/segment"},
      {"carrier-pigeon:here", "carrier-pigeon"},
      {"SHM:name", "SHM"},
      {"memory:name", "name"},
      {"memory:?mode=0600", "mode"},
      {"shm:a/b", "a/b"},
      {shm + "?colour=red", "colour"},
      {shm + "?Slots=64", "Slots"},
      {shm + "?slots", "slots"},
      {shm + "?slots=", "slots"},
      {shm + "?slots=many", "many"},
      {shm + "?slots=-64", "-64"},
      {shm + "?slots=64k", "64k"},
      {shm + "?slots= 64", " 64"},
      {shm + "?slots=0x40", "0x40"},
      {shm + "?slots=63", "63"},
      {shm + "?slots=16777217", "16777217"},
      {shm + "?slots=99999999999999999999", "99999999999999999999"},
      {shm + "?slots=64&slots=128", "slots"},
      {shm + "?processes=0", "processes"},
      {shm + "?processes=65536", "65536"},
      {shm + "?mode=rw", "rw"},
      {shm + "?mode=0680", "0680"},
      {shm + "?mode=1777", "1777"},
      {shm + "?slots=64&colour=red", "colour"},
      {shm + "?slots=64?mode=0600", "64?mode=0600"},
  };
  for (const BadUrl& bad : bad_urls) {
    EXPECT_THAT([&] { std::ignore = open_store(bad.url); },
                ThrowsMessage<std::invalid_argument>(HasSubstr(bad.named)))
        << bad.url;
    EXPECT_THROW(std::ignore = open_view(bad.url), std::invalid_argument) << bad.url;
  }
  EXPECT_THROW(std::ignore = open_store(std::string_view("shm:/dev/shm/a\0b", 16)), std::invalid_argument);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path())) << "a refused URL makes nothing";
}

TEST_F(OpenStore, RefusesOptionsOutOfRange) {
  EXPECT_THROW(ShmLockStore(path, {.slots = 63}), std::invalid_argument);
  EXPECT_THROW(ShmLockStore(path, {.slots = (1U << 24U) + 1}), std::invalid_argument);
  EXPECT_THROW(ShmLockStore(path, {.processes = 0}), std::invalid_argument);
  EXPECT_THROW(ShmLockStore(path, {.processes = 65536}), std::invalid_argument);
  EXPECT_THROW(ShmLockStore(path, {.mode = 01777}), std::invalid_argument);
  EXPECT_THROW(MemoryLockStore({.slots = 0}), std::invalid_argument);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

}  // namespace
}  // namespace mortise
