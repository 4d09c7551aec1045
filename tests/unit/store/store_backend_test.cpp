#include "mortise/store_backend.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "mortise/memory_lock_store.hpp"
#include "mortise/open_store.hpp"

namespace mortise {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

class ViewOfNothing final : public StoreView {
 public:
  [[nodiscard]] std::vector<LeaseInfo> leases() const override { return {}; }
  [[nodiscard]] std::optional<LeaseInfo> lease(const LockKey&) const override { return std::nullopt; }
};

std::string opened;

std::shared_ptr<LockStore> open_it(std::string_view url) {
  opened = url;
  return std::make_shared<MemoryLockStore>();
}

std::unique_ptr<StoreView> view_it(std::string_view url) {
  opened = url;
  return std::make_unique<ViewOfNothing>();
}

std::optional<LeaseInfo> release_it(std::string_view url, const LockKey& key) {
  opened = std::string(url) + " " + std::string(key.bytes());
  return std::nullopt;
}

TEST(StoreBackend, IsFoundByItsScheme) {
  register_store_backend("tree+leaf", {open_it, view_it, release_it});
  EXPECT_NE(open_store("tree+leaf:oak?age=7"), nullptr);
  EXPECT_EQ(opened, "tree+leaf:oak?age=7");
  EXPECT_TRUE(open_view("tree+leaf:elm")->leases().empty());
  EXPECT_EQ(opened, "tree+leaf:elm");
  EXPECT_FALSE(force_release("tree+leaf:ash", LockKey("k")).has_value());
  EXPECT_EQ(opened, "tree+leaf:ash k");
}

TEST(StoreBackend, SaysWhatItCannotDo) {
  register_store_backend("bush", {open_it});
  const auto code_of = [](const auto& call) {
    try {
      call();
    } catch (const StoreError& error) {
      return error.code();
    }
    return std::error_code();
  };
  EXPECT_EQ(code_of([] { open_view("bush:"); }), StoreErrc::unsupported);
  EXPECT_EQ(code_of([] { force_release("bush:", LockKey("k")); }), StoreErrc::unsupported);
  EXPECT_EQ(code_of([] { repair_store("bush:"); }), StoreErrc::unsupported);
}

TEST(StoreBackend, HasASchemeOfItsOwn) {
  register_store_backend("moss", {open_it});
  for (const std::string_view taken : {"moss", "shm", "memory", "", "Moss", "1moss", "mo:ss", "mo ss"})
    EXPECT_THROW(register_store_backend(taken, {open_it}), std::invalid_argument) << taken;
}

TEST(StoreBackend, IsNamedWhereAnotherIsAskedFor) {
  register_store_backend("fern", {open_it});
  EXPECT_THAT([] { open_store("ivy:wall"); },
              ThrowsMessage<std::invalid_argument>(
                  AllOf(HasSubstr("\"ivy\""), HasSubstr("\"shm\""), HasSubstr("\"fern\""))));
}

TEST(StoreUrl, PasswordInAnErrorIsBlottedOut) {
  for (const std::string_view url :
       {"ivy://ann:secret@wall/1", "ivy://ann:s/e?cret@wall/1?x=1", "ivy://:secret@wall"}) {
    EXPECT_THAT([&] { open_store(url); },
                ThrowsMessage<std::invalid_argument>(
                    AllOf(testing::Not(HasSubstr("ecret")), HasSubstr("@wall"), HasSubstr("***"))))
        << url;
  }
}

}  // namespace
}  // namespace mortise
