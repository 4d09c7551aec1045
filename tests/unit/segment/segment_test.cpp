#include "segment/segment.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "mortise/errors.hpp"
#include "segment/creation.hpp"
#include "support/temporary_directory.hpp"
#include "sys/file.hpp"

namespace mortise::segment {
namespace {

constexpr std::uint64_t kFingerprint = 77;
constexpr FileAccess kAccess{0600, false};

Plan plan_of(std::uint64_t body_bytes = 8192) {
  return {.fingerprint = kFingerprint,
          .slots = 64,
          .processes = 4,
          .guard = Guard::robust_mutex,
          .body_bytes = body_bytes,
          .make_body =
              [](const Header&, std::byte* body) {
                body[0] = std::byte{42};
                return true;
              },
          .highest_fence = [](const Header&, const std::byte*, std::uint64_t) { return std::nullopt; }};
}

class SegmentTest : public testing::Test {
 protected:
  test::TemporaryDirectory directory_;
  std::string path_ = directory_.file("segment");

  [[nodiscard]] StoreErrc refusal(const Plan& plan = plan_of()) const {
    try {
      Segment::open(path_, plan, kAccess);
    } catch (const StoreError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(path_));
      return static_cast<StoreErrc>(error.code().value());
    }
    ADD_FAILURE() << "was not refused";
    return StoreErrc::unsupported;
  }
  [[nodiscard]] std::string contents() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void overwrite(off_t offset, std::string_view bytes) const {
    const sys::FileDescriptor file(open(path_.c_str(), O_WRONLY | O_CLOEXEC));
    ASSERT_EQ(pwrite(file.get(), bytes.data(), bytes.size(), offset), static_cast<ssize_t>(bytes.size()));
  }
  // A file of another process, as far as the registry of this one can tell.
  void make_elsewhere() const {
    const auto segment = Segment::open(path_ + ".original", plan_of(), kAccess);
    std::filesystem::copy_file(path_ + ".original", path_);
  }
};

TEST_F(SegmentTest, IsMadeOnceAndMappedOnce) {
  const auto first = Segment::open(path_, plan_of(), kAccess);
  EXPECT_EQ(first->body()[0], std::byte{42});
  EXPECT_EQ(first->body_bytes(), 8192U);
  EXPECT_EQ(Segment::open(path_, plan_of(), kAccess), first);
}

TEST_F(SegmentTest, HasItsModeWhateverTheUmask) {
  const mode_t before = umask(0777);
  const auto segment = Segment::open(path_, plan_of(), {0640, false});
  umask(before);
  struct stat status {};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0640U);
}

TEST_F(SegmentTest, IsAllocatedForReal) {
  const auto segment = Segment::open(path_, plan_of(1 << 20), kAccess);
  struct stat status {};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_GE(static_cast<std::uint64_t>(status.st_blocks) * 512, segment->header().total_bytes);
}

TEST_F(SegmentTest, EachHasItsOwnIds) {
  const auto a = Segment::open(directory_.file("a"), plan_of(), kAccess);
  const auto b = Segment::open(directory_.file("b"), plan_of(), kAccess);
  EXPECT_NE(a->header().segment_id, b->header().segment_id);
  EXPECT_NE(a->header().hash_seed, b->header().hash_seed);
  EXPECT_GT(b->header().fence_base, a->header().fence_base);
}

TEST_F(SegmentTest, ViewMapsWhatIsThereAndMakesNothing) {
  EXPECT_THROW(Segment::view(path_, kFingerprint), StoreError);
  EXPECT_FALSE(std::filesystem::exists(path_));
  const auto segment = Segment::open(path_, plan_of(), kAccess);
  EXPECT_EQ(Segment::view(path_, kFingerprint)->header().segment_id, segment->header().segment_id);
}

TEST_F(SegmentTest, AnotherLayoutIsRefused) {
  const auto segment = Segment::open(path_, plan_of(), kAccess);
  Plan other = plan_of();
  other.fingerprint += 1;
  EXPECT_EQ(refusal(other), StoreErrc::incompatible);
}

TEST_F(SegmentTest, AnotherVersionIsRefusedAndNamed) {
  make_elsewhere();
  overwrite(offsetof(Header, version), std::string_view("\x09\0\0\0", 4));
  const std::string before = contents();
  EXPECT_EQ(refusal(), StoreErrc::incompatible);
  EXPECT_EQ(contents(), before);
}

TEST_F(SegmentTest, EveryDamagedByteOfTheHeaderIsRefused) {
  make_elsewhere();
  const std::string whole = contents();
  for (std::size_t i = 0; i < sizeof(Header); ++i) {
    const char flipped = static_cast<char>(whole[i] ^ 0x10);
    overwrite(static_cast<off_t>(i), {&flipped, 1});
    EXPECT_THROW(Segment::open(path_, plan_of(), kAccess), StoreError) << "byte " << i;
    overwrite(static_cast<off_t>(i), {&whole[i], 1});
  }
  EXPECT_NO_THROW(Segment::open(path_, plan_of(), kAccess));
}

TEST_F(SegmentTest, ATruncatedOneIsRefused) {
  make_elsewhere();
  for (const off_t size : {off_t{8000}, off_t{4096}, off_t{100}, off_t{0}}) {
    ASSERT_EQ(truncate(path_.c_str(), size), 0);
    const StoreErrc code = refusal();
    EXPECT_EQ(code, size >= 4096 ? StoreErrc::corrupt : StoreErrc::not_a_segment) << size;
  }
}

TEST_F(SegmentTest, ASuccessorGoesOnWithItsNumbers) {
  constexpr std::uint64_t kFarAboveTheClock = std::uint64_t{1} << 62U;
  const auto before = Segment::open(path_, plan_of(), kAccess);
  Plan plan = plan_of();
  plan.highest_fence = [](const Header&, const std::byte*, std::uint64_t) { return kFarAboveTheClock; };
  const sys::FileDescriptor file(open(path_.c_str(), O_RDWR | O_CLOEXEC));
  succeed(path_, file.get(), before->header(), plan);
  const auto after = Segment::open(path_, plan_of(), kAccess);
  EXPECT_NE(after->header().segment_id, before->header().segment_id);
  EXPECT_GE(after->header().fence_base, kFarAboveTheClock);
}

TEST_F(SegmentTest, OneOfAnEarlierBootThatMakesNoSenseHasNoSuccessor) {
  const auto before = Segment::open(path_, plan_of(), kAccess);
  const sys::FileDescriptor file(open(path_.c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_THROW(succeed(path_, file.get(), before->header(), plan_of()), StoreError);
  EXPECT_EQ(Segment::open(path_, plan_of(), kAccess), before);
}

TEST_F(SegmentTest, ASymbolicLinkIsRefused) {
  std::filesystem::create_symlink(directory_.file("elsewhere"), path_);
  EXPECT_EQ(refusal(), StoreErrc::not_a_segment);
  EXPECT_FALSE(std::filesystem::exists(directory_.file("elsewhere")));
}

TEST_F(SegmentTest, ADirectoryAFifoAndADeviceAreRefused) {
  std::filesystem::create_directory(path_);
  EXPECT_EQ(refusal(), StoreErrc::not_a_segment);
  std::filesystem::remove(path_);
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(refusal(), StoreErrc::not_a_segment);
}

TEST_F(SegmentTest, ANameThatIsTooLongIsAnError) {
  path_ = directory_.file(std::string(300, 'n'));
  EXPECT_EQ(refusal(), StoreErrc::cannot_open);
}

TEST_F(SegmentTest, MoreThanTheFileSystemHoldsIsRefusedAndLeavesNothing) {
  EXPECT_EQ(refusal(plan_of(std::uint64_t{1} << 50U)), StoreErrc::no_space);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(SegmentTest, AnonymousOnesShareNothing) {
  const auto a = Segment::anonymous(plan_of());
  const auto b = Segment::anonymous(plan_of());
  a->body()[1] = std::byte{1};
  EXPECT_EQ(b->body()[1], std::byte{0});
}

}  // namespace
}  // namespace mortise::segment
