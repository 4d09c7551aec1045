#include "store/redis/reply.hpp"

#include <hiredis/read.h>

#include <charconv>
#include <new>

namespace mortise::store::redis {

namespace {

// No answer that a lock needs is longer; a page of a listing has some hundred keys.
constexpr std::size_t kLongestReply = 4U << 20U;
constexpr std::size_t kMostElements = 1U << 16U;

redisReader* driver(void* reader) {
  return static_cast<redisReader*>(reader);
}

// Where the driver's parser puts what it found: at the top, or in the array that it is reading.
Reply* place(const redisReadTask* task) {
  if (task->parent == nullptr) return new Reply;
  return &static_cast<Reply*>(task->parent->obj)->elements[static_cast<std::size_t>(task->idx)];
}

// The driver is written in C: what is thrown here must not get there. A null pointer it takes for a lack of
// memory.
template <class Fill>
void* make(const redisReadTask* task, Fill fill) noexcept {
  try {
    Reply* reply = place(task);
    fill(*reply);
    return reply;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void* make_text(const redisReadTask* task, char* text, std::size_t size) {
  return make(task, [&](Reply& reply) {
    reply.kind = task->type == REDIS_REPLY_ERROR ? Reply::Kind::error : Reply::Kind::text;
    reply.text.assign(text, size);
  });
}

// The type of the count depends on the version of the driver.
template <class Count>
void* make_array(const redisReadTask* task, Count count) {
  if (static_cast<std::size_t>(count) > kMostElements) return nullptr;
  return make(task, [&](Reply& reply) {
    reply.kind = Reply::Kind::array;
    reply.elements.resize(static_cast<std::size_t>(count));
  });
}

void* make_integer(const redisReadTask* task, long long number) {  // NOLINT(google-runtime-int)
  return make(task, [&](Reply& reply) {
    reply.kind = Reply::Kind::integer;
    reply.integer = number;
  });
}

void* make_nil(const redisReadTask* task) {
  return make(task, [](Reply&) {});
}

redisReplyObjectFunctions& functions() {
  static redisReplyObjectFunctions all = [] {
    redisReplyObjectFunctions made{};
    made.createString = make_text;
    made.createArray = make_array;
    made.createInteger = make_integer;
    made.createNil = make_nil;
    made.freeObject = [](void* reply) { delete static_cast<Reply*>(reply); };
    return made;
  }();
  return all;
}

}  // namespace

void ReplyReader::Free::operator()(void* reader) const noexcept {
  redisReaderFree(driver(reader));
}

ReplyReader::ReplyReader() : reader_(redisReaderCreateWithFunctions(&functions())) {
  if (!reader_) throw std::bad_alloc();
}

void ReplyReader::feed(const char* bytes, std::size_t size) {
  unread_ += size;
  redisReaderFeed(driver(reader_.get()), bytes, size);  // an error stays until next()
}

std::optional<Reply> ReplyReader::next() {
  void* object = nullptr;
  if (redisReaderGetReply(driver(reader_.get()), &object) != REDIS_OK)
    return Reply::without(Reply::Kind::garbage, driver(reader_.get())->errstr);
  if (object == nullptr) {
    if (unread_ <= kLongestReply) return std::nullopt;
    return Reply::without(Reply::Kind::garbage, "the reply is longer than any that was asked for");
  }
  unread_ = 0;
  const std::unique_ptr<Reply> reply(static_cast<Reply*>(object));
  return std::move(*reply);
}

}  // namespace mortise::store::redis
