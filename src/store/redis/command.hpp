// A command as it goes over the wire.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace mortise::store::redis {

class Command {
 public:
  template <class... Words>
  explicit Command(std::string_view name, const Words&... words) {
    add(name);
    (add(words), ...);
  }

  void add(std::string_view word) {
    ++count_;
    body_ += '$';
    body_ += std::to_string(word.size());
    body_ += "\r\n";
    body_ += word;
    body_ += "\r\n";
  }
  void add(std::integral auto number) { add(std::string_view(std::to_string(number))); }

  [[nodiscard]] std::string bytes() const {
    std::string all(1, '*');
    all += std::to_string(count_);
    all += "\r\n";
    all += body_;
    return all;
  }

 private:
  unsigned count_ = 0;
  std::string body_;
};

}  // namespace mortise::store::redis
