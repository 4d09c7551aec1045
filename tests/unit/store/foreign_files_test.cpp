// A path that names something else than a whole segment of this version: an error, and the file stays as it
// is.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/crc.hpp>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "mortise/mortise.hpp"
#include "segment/layout.hpp"
#include "store_errors.hpp"
#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"
#include "support/watchdog.hpp"

namespace mortise {
namespace {

using namespace std::chrono_literals;
using segment::Header;
using test::FailsWith;
using testing::AnyOf;

std::uint64_t checksum_of(const Header& header) {
  boost::crc_optimal<64, 0x42F0E1EBA9EA3693, 0xFFFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF, true, true> crc;
  crc.process_bytes(&header, offsetof(Header, checksum));
  return crc.checksum();
}

class ForeignFile : public testing::Test {
 protected:
  static constexpr SegmentOptions kSmall{.slots = 64, .processes = 8};

  // In another process: this one keeps what it has mapped, and would not look at the file again.
  [[nodiscard]] std::string a_segment() const {
    test::ChildProcess making([&](test::Channel&) {
      if (!mortise::lock("k", 20s, std::make_shared<ShmLockStore>(path, kSmall)).acquire_immediately())
        _exit(1);
    });
    EXPECT_EQ(making.wait(), 0);
    std::string contents = read();
    std::filesystem::remove(path);
    return contents;
  }
  [[nodiscard]] std::string read() const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& contents) const {
    std::filesystem::remove(path);
    std::ofstream(path, std::ios::binary) << contents;
  }
  [[nodiscard]] auto opening() const {
    return [this] { ShmLockStore(path, kSmall); };
  }
  template <class Matcher>
  void expect_refused_and_left_alone(const std::string& contents, const Matcher& matcher) const {
    write(contents);
    const auto time = std::filesystem::last_write_time(path);
    EXPECT_THAT(opening(), matcher);
    EXPECT_TRUE(read() == contents) << "the file was changed";
    EXPECT_EQ(std::filesystem::last_write_time(path), time);
    EXPECT_THAT([&] { std::ignore = open_view("shm:" + path); }, matcher);
  }

  test::Watchdog watchdog;
  test::TemporaryDirectory directory;
  std::string path = directory.file("segment");
};

TEST_F(ForeignFile, ThatIsNoSegmentIsLeftAlone) {
  for (const std::string& contents :
       {std::string(), std::string("x"), std::string("dear diary\n"), std::string(4096, '\0'),
        std::string(100000, 'x'), std::string("mortise"), std::string("mortise\n"),
        "mortise!" + std::string(8192, '\0')}) {
    expect_refused_and_left_alone(contents, FailsWith(StoreErrc::not_a_segment));
  }
}

TEST_F(ForeignFile, ThatIsACutSegmentIsLeftAlone) {
  const std::string whole = a_segment();
  std::vector<std::size_t> sizes = {sizeof(Header) - 1, sizeof(Header), segment::kPage - 1, whole.size() - 1};
  for (std::size_t size = 0; size < whole.size(); size += segment::kPage) sizes.push_back(size);
  for (const std::size_t size : sizes) {
    expect_refused_and_left_alone(whole.substr(0, size),
                                  AnyOf(FailsWith(StoreErrc::not_a_segment), FailsWith(StoreErrc::corrupt)));
  }
}

TEST_F(ForeignFile, OfAnotherVersionIsLeftAlone) {
  std::string other = a_segment();
  for (std::size_t i = 0; i < sizeof(Header::version); ++i) {
    std::string contents = other;
    contents[offsetof(Header, version) + i] ^= 2;
    expect_refused_and_left_alone(contents, FailsWith(StoreErrc::incompatible));
  }
}

// Headers that are whole, of segments that somebody else would understand.
TEST_F(ForeignFile, OfAnotherBuildOrAnotherPlaceIsLeftAlone) {
  const std::string whole = a_segment();
  const auto with = [&](auto&& change) {
    Header header{};
    std::memcpy(&header, whole.data(), sizeof(header));
    change(header);
    header.checksum = checksum_of(header);
    std::string contents = whole;
    std::memcpy(contents.data(), &header, sizeof(header));
    return contents;
  };
  ASSERT_EQ(with([](Header&) {}), whole) << "the checksum is made in another way";
  const auto expect = [&](StoreErrc code, auto&& change) {
    expect_refused_and_left_alone(with(change), FailsWith(code));
  };
  expect(StoreErrc::incompatible, [](Header& header) { ++header.fingerprint; });
  expect(StoreErrc::incompatible, [](Header& header) { header.mutex_image[16] ^= std::byte{1}; });
  expect(StoreErrc::foreign_namespace, [](Header& header) { ++header.pid_namespace.inode; });
  expect(StoreErrc::corrupt, [](Header& header) { header.header_bytes += 8; });
  expect(StoreErrc::corrupt, [](Header& header) { header.total_bytes += 1; });
  expect(StoreErrc::corrupt, [](Header& header) { header.slots *= 2; });
  expect(StoreErrc::corrupt, [](Header& header) { header.slots = 0; });
}

TEST_F(ForeignFile, WithAnyByteOfItsHeaderChangedIsLeftAlone) {
  const std::string whole = a_segment();
  for (std::size_t i = 0; i < sizeof(Header); ++i) {
    std::string contents = whole;
    contents[i] ^= 1;
    expect_refused_and_left_alone(
        contents, AnyOf(FailsWith(StoreErrc::not_a_segment), FailsWith(StoreErrc::incompatible),
                        FailsWith(StoreErrc::corrupt)));
  }
}

TEST_F(ForeignFile, ThatIsACopyOfASegmentIsASegmentOfItsOwn) {
  write(a_segment());
  EXPECT_THAT(opening(), testing::Not(FailsWith(StoreErrc::corrupt)));
  EXPECT_TRUE(mortise::lock("k", 20s, std::make_shared<ShmLockStore>(path)).acquire_immediately());
}

TEST_F(ForeignFile, BehindASymbolicLinkIsRefused) {
  const std::string target = directory.file("target");
  std::filesystem::create_symlink(target, path);
  EXPECT_THAT(opening(), FailsWith(StoreErrc::not_a_segment));
  EXPECT_FALSE(std::filesystem::exists(target)) << "it was made through the link";
  std::ignore = open_store("shm:" + target);
  EXPECT_THAT(opening(), FailsWith(StoreErrc::not_a_segment));
}

TEST_F(ForeignFile, ThatIsNoRegularFileIsRefused) {
  std::filesystem::create_directory(path);
  EXPECT_THAT(opening(), FailsWith(StoreErrc::not_a_segment));
  std::filesystem::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(opening(), FailsWith(StoreErrc::not_a_segment)) << "and does not wait for a writer";
  EXPECT_THAT([] { ShmLockStore("/dev/null"); }, FailsWith(StoreErrc::not_a_segment));
}

TEST_F(ForeignFile, WhosePathLeadsNowhereCannotBeOpened) {
  const auto open = [](const std::string& where) { return [where] { ShmLockStore{where}; }; };
  EXPECT_THAT(open(directory.file("missing/segment")), FailsWith(StoreErrc::cannot_open));
  std::ofstream(directory.file("file")) << "text";
  EXPECT_THAT(open(directory.file("file/segment")), FailsWith(StoreErrc::cannot_open));
  EXPECT_THAT(open(directory.file(std::string(300, 'n'))), FailsWith(StoreErrc::cannot_open));
}

// What somebody wrote over the table may cost the leases. It must not cost the process.
TEST_F(ForeignFile, WhoseTableWasScribbledOverKillsNobody) {
  const std::string whole = a_segment();
  const auto use = [&] {
    test::ChildProcess user([&](test::Channel&) {
      alarm(5);
      try {
        const auto store = std::make_shared<ShmLockStore>(path);
        for (const char* key : {"k", "another"}) {
          Lock lock = mortise::lock(key, 20s, store);
          std::ignore = lock.is_locked();
          std::ignore = lock.remaining_time();
          if (!lock.acquire({.timeout = 1ms})) continue;
          std::ignore = lock.is_expired();
          lock.extend();
          lock.release();
        }
      } catch (const StoreError&) {
      } catch (const LockNotHeldError&) {
      }
    });
    return user.wait();
  };
  for (int byte = 0; byte < 256; ++byte) {
    write(whole.substr(0, segment::kPage) +
          std::string(whole.size() - segment::kPage, static_cast<char>(byte)));
    EXPECT_EQ(use(), 0) << "filled with " << byte;
  }
  std::minstd_rand random;
  for (int round = 0; round < 50; ++round) {
    std::string contents = whole;
    for (std::size_t i = segment::kPage; i < contents.size(); ++i)
      contents[i] = static_cast<char>(random() >> 8U);
    write(contents);
    EXPECT_EQ(use(), 0) << "noise of round " << round;
  }
}

}  // namespace
}  // namespace mortise
