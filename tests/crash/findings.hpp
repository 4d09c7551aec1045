// What was found wrong, in sentences.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mortise::crash {

class Findings {
 public:
  void expect(bool holds, std::string_view otherwise) {
    if (!holds) sentences_.emplace_back(otherwise);
  }
  void add(const Findings& others) {
    sentences_.insert(sentences_.end(), others.sentences_.begin(), others.sentences_.end());
  }
  [[nodiscard]] bool empty() const noexcept { return sentences_.empty(); }
  // One a line.
  [[nodiscard]] std::string text() const {
    std::string text;
    for (const std::string& sentence : sentences_) text += "  " + sentence + "\n";
    return text;
  }

 private:
  std::vector<std::string> sentences_;
};

}  // namespace mortise::crash
