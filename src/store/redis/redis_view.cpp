#include "store/redis/redis_view.hpp"

#include <charconv>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "store/redis/client.hpp"
#include "store/redis/failure.hpp"
#include "store/redis/options.hpp"

namespace mortise::store::redis {

namespace {

constexpr const char* kVerb = "list the leases";

// A pattern for SCAN that begins with these bytes.
std::string pattern_for(std::string_view prefix) {
  std::string pattern;
  for (const char byte : prefix) {
    if (std::string_view("*?[]\\^").find(byte) != std::string_view::npos) pattern += '\\';
    pattern += byte;
  }
  return pattern + '*';
}

// A name with the time that is left of it, and its last fencing number.
struct Found {
  std::int64_t left;
  std::optional<std::uint64_t> fence;
};

std::optional<LeaseInfo> to_info(std::string_view key, const Found& found) {
  constexpr std::int64_t kNoExpiry = -1;
  if (key.empty() || found.left < kNoExpiry) return std::nullopt;
  const auto left = found.left == kNoExpiry ? Ttl::kMax : std::chrono::milliseconds(found.left);
  return LeaseInfo{LockKey(key), std::nullopt, std::nullopt, left, found.fence, std::nullopt};
}

class RedisView final : public StoreView {
 public:
  explicit RedisView(Options options) : client_(std::move(options)) {
    std::ignore = servers();  // there is something to view, or this throws
  }

  [[nodiscard]] std::vector<LeaseInfo> leases() const override {
    std::map<std::string, LeaseInfo> found;  // SCAN may show a key twice
    for (const Address& server : servers()) scan(server, found);
    std::vector<LeaseInfo> all;
    all.reserve(found.size());
    for (auto& [key, info] : found) all.push_back(std::move(info));
    return all;
  }

  [[nodiscard]] std::optional<LeaseInfo> lease(const LockKey& key) const override {
    const KeyNames names = client_.names(key);
    const std::uint16_t slot = slot_of(names.lease);
    const auto ask = [&](const Command& command) {
      Answer answer = client_.ask(
          slot, [&](Wording) { return command; }, client_.deadline());
      client_.give_back(std::move(answer.connection));
      return expected(std::move(answer.reply));
    };
    const Reply left = ask(Command("PTTL", names.lease));
    const Reply fence = ask(Command("HGET", names.notes, "f"));
    return to_info(key.bytes(), {left.integer, number_in(fence)});
  }

  // As its owner would; nullopt: nobody held it.
  std::optional<LeaseInfo> force_release(const LockKey& key) {
    const KeyNames names = client_.names(key);
    for (;;) {
      auto info = lease(key);
      if (!info) return std::nullopt;
      Answer owner = client_.ask(
          slot_of(names.lease), [&](Wording) { return Command("GET", names.lease); }, client_.deadline());
      client_.give_back(std::move(owner.connection));
      if (expected(owner.reply).kind != Reply::Kind::text) continue;
      Answer answer =
          client_.run(kRelease, names, client_.deadline(), owner.reply.text, Client::IsRepeated{});
      client_.give_back(std::move(answer.connection));
      if (expected(answer.reply).integer == 1) return info;
    }
  }

 private:
  static std::optional<std::uint64_t> number_in(const Reply& reply) {
    std::uint64_t number = 0;
    const char* const end = reply.text.data() + reply.text.size();
    return std::from_chars(reply.text.data(), end, number).ec == std::errc() ? std::optional(number)
                                                                             : std::nullopt;
  }

  Reply expected(Reply reply) const {
    if (!reply.came() || reply.kind == Reply::Kind::error) throw_failure(reply, kVerb, client_.server());
    return reply;
  }

  [[nodiscard]] std::vector<Address> servers() const {
    Reply failure;
    std::vector<Address> all = client_.topology().all(client_.deadline(), failure);
    if (all.empty()) throw_failure(failure, kVerb, client_.server());
    for (const Address& each : all) client_.give_back(connect(each));
    return all;
  }

  [[nodiscard]] std::unique_ptr<Connection> connect(const Address& server) const {
    Reply failure;
    auto connection = client_.pool().take(server, client_.deadline(), failure);
    if (!connection) throw_failure(failure, kVerb, client_.server());
    return connection;
  }

  // In steps that each hold up the server for some hundred keys: others wait no longer for it than for
  // another command.
  void scan(const Address& server, std::map<std::string, LeaseInfo>& found) const {
    constexpr int kStep = 250;
    auto connection = connect(server);
    std::string cursor = "0";
    do {
      const Reply page =
          expected(connection->ask(Command("SCAN", cursor, "MATCH", pattern_for(client_.options().prefix),
                                           "COUNT", kStep, "TYPE", "string"),
                                   client_.deadline()));
      if (page.elements.size() != 2) throw_failure(page, kVerb, client_.server());
      cursor = page.elements[0].text;
      look_at(*connection, page.elements[1].elements, found);
    } while (cursor != "0");
    client_.give_back(std::move(connection));
  }

  // All keys of a page in one go.
  void look_at(Connection& connection, const std::vector<Reply>& names,
               std::map<std::string, LeaseInfo>& found) const {
    std::vector<std::string_view> keys;
    std::string commands;
    for (const Reply& name : names) {
      const std::string_view key = key_of_lease(client_.options().prefix, name.text);
      if (key.empty()) continue;
      keys.push_back(key);
      commands += Command("PTTL", name.text).bytes() +
                  Command("HGET", client_.names(LockKey(key)).notes, "f").bytes();
    }
    const sys::TimePoint deadline = client_.deadline();
    if (!keys.empty()) expected(connection.send(commands, deadline));
    for (const std::string_view key : keys) {
      const Reply left = expected(connection.receive(deadline));
      const Reply fence = expected(connection.receive(deadline));
      if (auto info = to_info(key, {left.integer, number_in(fence)}))
        found.insert_or_assign(std::string(key), *std::move(info));
    }
  }

  mutable Client client_;
};

}  // namespace

std::unique_ptr<StoreView> open_view(std::string_view url) {
  return std::make_unique<RedisView>(parse_url(url));
}

std::optional<LeaseInfo> force_release(std::string_view url, const LockKey& key) {
  return RedisView(parse_url(url)).force_release(key);
}

}  // namespace mortise::store::redis
