#include "table/check.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <tuple>

#include "small_table.hpp"
#include "support/child_process.hpp"

namespace mortise::table {
namespace {

using namespace std::chrono_literals;
using test::Channel;
using test::ChildProcess;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class CheckTest : public testing::Test, protected SmallTable {
 protected:
  CheckTest() {
    touch("known");
    acquire("held", owner);
  }
  [[nodiscard]] std::vector<std::string> sentences() const {
    std::vector<std::string> all;
    for (const Flaw& flaw : check(*segment)) all.push_back(describe(flaw));
    return all;
  }
  [[nodiscard]] std::vector<Fault> faults() const {
    std::vector<Fault> all;
    for (const Flaw& flaw : check(*segment)) all.push_back(flaw.fault);
    return all;
  }
  static void set(Slot& slot, Lease lease) { ASSERT_TRUE(slot.lease.swap(slot.lease.load(), lease)); }
  static void reserve(Slot& slot) { set(slot, Lease::reserved(12345, slot.lease.load().term)); }
  [[nodiscard]] unsigned index_of(const LockKey& key) const {
    return stripe(key.size()).find(place(key), key).index;
  }
  // Another slot of the stripe, with nothing in it.
  [[nodiscard]] unsigned unused_index() const {
    unsigned index = 0;
    while (stripe().header().tag(index) != 0) ++index;
    return index;
  }

  OwnerToken owner = OwnerToken::generate();
};

TEST_F(CheckTest, FindsNothingInASoundTable) {
  for (const std::size_t size : {1U, 7U, 8U, 88U, 89U, 216U, 217U, 1024U})
    touch(LockKey(std::string(size, 'k')));
  for (const auto& key : numbered_keys(200)) touch(LockKey(key));
  acquire("expired", OwnerToken::generate(), 1ms);
  acquire("the longest", OwnerToken::generate(), Ttl::kMax);
  EXPECT_THAT(sentences(), IsEmpty());
}

TEST(CheckOfALargerTable, FindsEachKeyInItsStripe) {
  constexpr std::uint32_t kSlots = 4096;
  const auto segment = segment::Segment::anonymous(LockTable::plan(kSlots, 4, segment::Guard::robust_mutex));
  LockTable table(segment);
  for (const auto& prefix : {std::string("short:"), std::string(100, 'm'), std::string(300, 'l')}) {
    for (const auto& key : numbered_keys(200, prefix))
      table.acquire(LockKey(key), OwnerToken::generate(), 1h, std::chrono::nanoseconds(0));
  }
  EXPECT_THAT(check(*segment), IsEmpty());
}

TEST_F(CheckTest, FindsAReservationOfNobody) {
  reserve(slot_of("known"));
  EXPECT_THAT(sentences(), ElementsAre(AllOf(StartsWith("stripe 0, slot "), HasSubstr("(key \"known\")"),
                                             HasSubstr("nobody is adding one"))));
}

TEST_F(CheckTest, LetsSomebodyAddAKey) {
  reserve(slot_of("known"));
  ASSERT_EQ(stripe().header().mutex.try_lock(), sys::RobustMutex::Outcome::locked);
  EXPECT_THAT(sentences(), IsEmpty());
  stripe().header().mutex.unlock();
}

TEST_F(CheckTest, NotesWhoDiedWhileItAddedAKey) {
  ChildProcess child([this](Channel&) {
    if (stripe().header().mutex.try_lock() != sys::RobustMutex::Outcome::locked) _exit(1);
    reserve(slot_of("known"));
  });
  ASSERT_EQ(child.wait(), 0);
  ASSERT_THAT(faults(), ElementsAre(Fault::dead_shaper));
  EXPECT_FALSE(is_damage(Fault::dead_shaper));
  touch("another");
  EXPECT_THAT(sentences(), IsEmpty());
}

TEST_F(CheckTest, NotesWhoIsStoppedWhileItAddsAKey) {
  ChildProcess child([this](Channel& parent) {
    std::ignore = stripe().header().mutex.try_lock();
    parent.send("locked");
    std::ignore = parent.receive();
  });
  ASSERT_EQ(child.receive(), "locked");
  EXPECT_THAT(sentences(), IsEmpty());
  child.stop();
  EXPECT_THAT(sentences(), ElementsAre(HasSubstr(std::to_string(child.pid()))));
  EXPECT_FALSE(is_damage(Fault::stalled_shaper));
}

TEST_F(CheckTest, FindsADamagedMutex) {
  std::memset(static_cast<void*>(&stripe().header().mutex), 0x55, sizeof(sys::RobustMutex));
  EXPECT_THAT(sentences(), ElementsAre(StartsWith("stripe 0: its mutex is damaged")));
}

TEST_F(CheckTest, FindsAFloorThatWasNeverGranted) {
  const std::uint64_t base = segment->header().fence_base;
  for (const std::uint64_t floor :
       {std::uint64_t{0}, base - 1, ~std::uint64_t{0}, base + (std::uint64_t{1} << 60U)}) {
    stripe().header().floor = floor;
    EXPECT_THAT(faults(), ElementsAre(Fault::floor)) << floor;
  }
}

TEST_F(CheckTest, FindsAFenceThatWasNeverGranted) {
  for (const std::uint64_t fence : {std::uint64_t{0}, segment->header().fence_base - 64, ~std::uint64_t{0}}) {
    slot_of("known").fence_mark = fence;
    EXPECT_THAT(faults(), ElementsAre(Fault::fence)) << fence;
  }
}

TEST_F(CheckTest, FindsALeaseWithoutAKey) {
  const unsigned index = index_of("held");
  stripe().slot(index).identity = 0;
  EXPECT_THAT(faults(), ElementsAre(Fault::lease_without_key));
}

TEST_F(CheckTest, FindsAKeyThatIsNotTheOneOfItsHash) {
  slot_of("known").key()[0] ^= 1U;
  EXPECT_THAT(faults(), ElementsAre(Fault::key_hash));
}

TEST_F(CheckTest, FindsBytesBehindAKeyThatNoLookUpExpects) {
  Slot& slot = slot_of("known");
  slot.key()[0] |= std::uint64_t{1} << 56U;
  EXPECT_THAT(faults(), ElementsAre(Fault::key_hash));
  EXPECT_FALSE(stripe().find(place("known"), "known"));
}

TEST_F(CheckTest, FindsALengthThatNoKeyHasHere) {
  Slot& slot = slot_of("known");
  const std::uint64_t hash = slot.identity & ~std::uint64_t{0xffff};
  for (const std::uint64_t length : {0U, 89U, 1025U, 0xffffU}) {
    slot.identity = hash | length;
    EXPECT_THAT(faults(), ElementsAre(Fault::key_length)) << length;
  }
}

TEST_F(CheckTest, FindsAKeyWithAnotherTag) {
  const unsigned index = index_of("held");
  const auto other = static_cast<std::uint8_t>(~place("held").tag);
  for (const std::uint8_t tag : {std::uint8_t{0}, other}) {
    stripe().header().set_tag(index, tag);
    EXPECT_THAT(sentences(), ElementsAre(AllOf(HasSubstr("\"held\""), HasSubstr("tag"))));
  }
}

TEST_F(CheckTest, FindsATagWithoutAKey) {
  stripe().header().set_tag(unused_index(), 7);
  EXPECT_THAT(faults(), ElementsAre(Fault::tag));
}

TEST_F(CheckTest, FindsAKeyTwice) {
  const unsigned from = index_of("known");
  const unsigned to = unused_index();
  Slot& copy = stripe().slot(to);
  copy.fence_mark = slot_of("known").last_fence() + 1;
  copy.key()[0] = slot_of("known").key()[0].load();
  copy.identity = slot_of("known").identity.load();
  stripe().header().set_tag(to, place("known").tag);
  const auto flaws = check(*segment);
  ASSERT_EQ(flaws.size(), 1U);
  EXPECT_EQ(flaws[0].fault, Fault::key_twice);
  EXPECT_EQ(flaws[0].slot, from) << "the one that was granted last stays";
}

TEST_F(CheckTest, FindsALeaseThatNeverEnds) {
  Slot& slot = slot_of("held");
  set(slot, slot.lease.load().with_expiry(sys::Clock::now() + Ttl::kMax + 1h));
  EXPECT_THAT(faults(), ElementsAre(Fault::expiry));
}

TEST_F(CheckTest, FindsALeaseOfNoProcess) {
  Slot& slot = slot_of("held");
  set(slot, slot.lease.load().with_binding(kProcesses + 1));
  EXPECT_THAT(faults(), ElementsAre(Fault::binding));
  segment::ProcessSlot unused = 0;
  while (segment->processes().was_used(unused)) ++unused;
  set(slot, slot.lease.load().with_binding(Lease::bound_to(unused)));
  EXPECT_THAT(faults(), ElementsAre(Fault::unused_process));
}

TEST_F(CheckTest, ShowsAnyKeyOnOneLine) {
  const LockKey key("a\n\"\\\xff" + std::string(70, 'b'));
  touch(key);
  stripe(key.size()).header().set_tag(index_of(key), 0);
  EXPECT_THAT(sentences(), ElementsAre(HasSubstr(R"((key "a\x0a\x22\x5c\xffb)")));
  EXPECT_THAT(sentences(), ElementsAre(HasSubstr("bbb\"...)")));
}

TEST_F(CheckTest, FindsNothingWhileTheTableIsBusy) {
  const auto keys = numbered_keys(100);  // more than there are slots: they evict each other
  std::vector<ChildProcess> busy;
  for (int i = 0; i < 3; ++i) {
    busy.emplace_back([&](Channel&) {
      for (std::size_t n = 0;; ++n) {
        const LockKey key(keys[n * 7 % keys.size()]);
        const OwnerToken mine = OwnerToken::generate();
        if (acquire(key, mine, 1h).outcome != LockTable::Outcome::granted) continue;
        table.extend(key, mine, 2h);
        if (n % 3 != 0) table.release(key, mine);
        if (n % 3 == 0 && n % 2 == 0) table.release(key, mine);
      }
    });
  }
  constexpr int kLooks = 3000;
  for (int look = 0; look < kLooks; ++look) ASSERT_THAT(sentences(), IsEmpty()) << "look " << look;
  for (ChildProcess& process : busy) {
    EXPECT_EQ(process.kill(), 128 + SIGKILL) << "it had ended by itself";
  }
}

TEST_F(CheckTest, NamesATakenProcessSlotWhoseRecordWasWiped) {
  EXPECT_THAT(unrecorded_processes(*segment), IsEmpty());
  segment::ProcessSlot unused = 0;
  while (segment->processes().was_used(unused)) ++unused;
  const sys::FileDescriptor other = sys::reopen(segment->file().get(), O_RDWR);
  ASSERT_TRUE(sys::try_lock_byte(other.get(), segment::lock_byte(unused)));
  EXPECT_THAT(unrecorded_processes(*segment), ElementsAre(unused));
}

}  // namespace
}  // namespace mortise::table
