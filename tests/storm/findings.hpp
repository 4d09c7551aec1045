// What the processes of a storm have to complain of, in memory that outlives them.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::storm {

class Findings {
 public:
  // Any process, at any time. What does not fit is cut; of what comes after the first kTexts only the number
  // is kept.
  void add(std::string_view text) noexcept {
    const std::size_t index = count_.fetch_add(1);
    if (index < kTexts) std::copy_n(text.data(), std::min(text.size(), kLongest), texts_[index].data());
  }

  [[nodiscard]] std::size_t count() const noexcept { return count_.load(); }
  // When nobody writes.
  [[nodiscard]] std::vector<std::string> texts() const {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < std::min(count(), kTexts); ++i) texts.emplace_back(texts_[i].data());
    return texts;
  }

 private:
  static constexpr std::size_t kTexts = 32;
  static constexpr std::size_t kLongest = 1023;
  std::atomic<std::size_t> count_ = 0;
  std::array<std::array<char, kLongest + 1>, kTexts> texts_{};
};

}  // namespace mortise::storm
