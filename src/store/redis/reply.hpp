// What a server answered, and how it is read. Nothing but reply.cpp knows the driver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::store::redis {

struct Reply {
  enum class Kind {
    nil,
    integer,
    text,   // a string or a status
    error,  // the server's sentence, which begins with a word in capitals
    array,
    unsent,   // there is none: the command cannot have reached the server
    unknown,  // there is none: the command may have been carried out
    garbage,  // it is none: the command may have been carried out
  } kind = Kind::nil;
  std::int64_t integer = 0;
  std::string text;  // where there is no answer: why
  std::vector<Reply> elements;

  static Reply without(Kind kind, std::string reason) { return {kind, 0, std::move(reason), {}}; }

  [[nodiscard]] bool is_error(std::string_view word) const {
    return kind == Kind::error && text.starts_with(word);
  }
  // Did an answer come, be it an error?
  [[nodiscard]] bool came() const { return kind < Kind::unsent; }
};

// Takes bytes as they come, and gives replies.
class ReplyReader {
 public:
  ReplyReader();
  ReplyReader(ReplyReader&&) noexcept = default;
  ReplyReader& operator=(ReplyReader&&) noexcept = default;
  ~ReplyReader() = default;

  void feed(const char* bytes, std::size_t size);
  // The next reply; nullopt: it is not complete. Of Kind::garbage: these are no replies, nor will there be
  // any. Neither a reply that is too long nor one that claims to be is waited for.
  std::optional<Reply> next();

 private:
  struct Free {
    void operator()(void* reader) const noexcept;
  };
  std::unique_ptr<void, Free> reader_;
  std::size_t unread_ = 0;  // bytes since the last complete reply
};

}  // namespace mortise::store::redis
