// Redis over a unix socket, as most lock libraries use it: SET NX PX, and a script that deletes the key if it
// has the value; who waits asks again every 50 ms.
#include <hiredis/hiredis.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "peers/peer.hpp"
#include "peers/server.hpp"

namespace mortise::bench {

namespace {

struct Free {
  void operator()(redisContext* context) const { redisFree(context); }
};
using Connection = std::unique_ptr<redisContext, Free>;

Connection connect(const std::string& socket) {
  Connection connection(redisConnectUnix(socket.c_str()));
  if (!connection || connection->err != 0) return nullptr;
  return connection;
}

// Keeps nothing on a disk.
class RedisServer {
 public:
  static RedisServer& instance() {
    static RedisServer server;
    return server;
  }
  [[nodiscard]] std::string socket() const { return home_.path() + "/socket"; }

 private:
  RedisServer() {
    give_to_unprivileged(home_.path());
    server_ = std::make_unique<Server>(std::vector<std::string>{"redis-server", "--port", "0", "--unixsocket",
                                                                socket(), "--save", "", "--appendonly", "no",
                                                                "--dir", home_.path()});
    server_->wait_until([this] { return connect(socket()) != nullptr; });
  }
  TemporaryDirectory home_;
  std::unique_ptr<Server> server_;
};

struct FreeReply {
  void operator()(void* reply) const { freeReplyObject(reply); }
};

class RedisLock : public Exclusion {
 public:
  RedisLock() { RedisServer::instance(); }
  void enter() override {
    connection_ = connect(RedisServer::instance().socket());
    must(connection_ != nullptr, "redisConnectUnix");
    script_ =
        ask("SCRIPT LOAD %s",
            "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0")
            ->str;
  }
  void acquire() override {
    constexpr std::chrono::milliseconds kPoll{50};
    while (ask("SET %s owner NX PX 30000", kUsualKey)->type == REDIS_REPLY_NIL)
      std::this_thread::sleep_for(kPoll);
  }
  void release() override {
    must(ask("EVALSHA %s 1 %s owner", script_.c_str(), kUsualKey)->integer == 1, "the script of the release");
  }

 private:
  template <class... Args>
  std::unique_ptr<redisReply, FreeReply> ask(const char* command, Args... arguments) {
    std::unique_ptr<redisReply, FreeReply> reply(
        static_cast<redisReply*>(redisCommand(connection_.get(), command, arguments...)));
    must(reply && reply->type != REDIS_REPLY_ERROR, "a command to Redis");
    return reply;
  }
  Connection connection_;
  std::string script_;
};

const PeerEntry kEntry("Redis, unix socket", make_peer<RedisLock>);

}  // namespace

}  // namespace mortise::bench
