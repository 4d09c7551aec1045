#include "store/sql/view.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "store/sql/database.hpp"
#include "store/sql/key_text.hpp"
#include "store/sql/lease_rows.hpp"
#include "store/sql/open.hpp"

namespace mortise::sql {

namespace {

LeaseInfo to_info(const LockKey& key, std::string_view left) {
  return {key, std::nullopt, std::nullopt, time_left(left), std::nullopt, std::nullopt};
}

std::optional<LeaseInfo> first_of(const Answer& answer, const LockKey& key) {
  if (answer.rows.empty()) return std::nullopt;
  return to_info(key, answer.rows.front()[1]);
}

class SqlView final : public StoreView {
 public:
  explicit SqlView(std::string_view url) : database_(open_existing_database(url)) {}

  // In batches, so that no statement takes long.
  [[nodiscard]] std::vector<LeaseInfo> leases() const override {
    constexpr std::int64_t kBatch = 1000;
    std::vector<LeaseInfo> leases;
    std::string last;
    for (bool is_more = true; is_more;) {
      const Answer answer = database_->run(Query::list, std::array<Parameter, 2>{last, kBatch});
      for (const Row& row : answer.rows) {
        if (const auto key = key_of(row[0])) leases.push_back(to_info(*key, row[2]));
      }
      is_more = answer.rows.size() == static_cast<std::size_t>(kBatch);
      if (is_more) last = answer.rows.back()[0];
    }
    std::sort(leases.begin(), leases.end(),
              [](const LeaseInfo& a, const LeaseInfo& b) { return a.key.bytes() < b.key.bytes(); });
    return leases;
  }

  [[nodiscard]] std::optional<LeaseInfo> lease(const LockKey& key) const override {
    const std::string text = text_of(key);
    return first_of(database_->run(Query::find, std::array<Parameter, 1>{text}), key);
  }

 private:
  std::unique_ptr<Database> database_;
};

}  // namespace

std::unique_ptr<StoreView> open_view(std::string_view url) {
  return std::make_unique<SqlView>(url);
}

std::optional<LeaseInfo> force_release(std::string_view url, const LockKey& key) {
  const std::string text = text_of(key);
  return first_of(open_existing_database(url)->run(Query::end, std::array<Parameter, 1>{text}), key);
}

}  // namespace mortise::sql
