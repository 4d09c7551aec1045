#include "store/redis/topology.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <mutex>
#include <utility>

namespace mortise::store::redis {

namespace {

constexpr std::size_t kSlots = 16384;

Reply senseless(std::string_view who) {
  return Reply::without(Reply::Kind::unsent, std::string(who) + " gave an answer that makes no sense");
}

class SingleServer final : public Topology {
 public:
  explicit SingleServer(Address address) : address_(std::move(address)) {}
  std::optional<Address> server_of(std::uint16_t, sys::TimePoint, Reply&) override { return address_; }
  std::vector<Address> all(sys::TimePoint, Reply&) override { return {address_}; }
  void doubt(const Address&) override {}
  [[nodiscard]] bool has_substitutes() const override { return false; }

 private:
  const Address address_;
};

// A master that sentinels watch over.
class Sentinels final : public Topology {
 public:
  explicit Sentinels(const Options& options) : options_(options), sentinels_(options.servers) {}

  std::optional<Address> server_of(std::uint16_t, sys::TimePoint deadline, Reply& failure) override {
    const std::lock_guard guard(mutex_);
    if (!master_) master_ = ask_sentinels(deadline, failure);
    return master_;
  }
  std::vector<Address> all(sys::TimePoint deadline, Reply& failure) override {
    const auto master = server_of(0, deadline, failure);
    return master ? std::vector{*master} : std::vector<Address>();
  }
  void doubt(const Address& server) override {
    const std::lock_guard guard(mutex_);
    if (master_ == server) master_.reset();
  }
  [[nodiscard]] bool has_substitutes() const override { return true; }

 private:
  // The first one that answers is asked first the next time.
  std::optional<Address> ask_sentinels(sys::TimePoint deadline, Reply& failure) {
    for (std::size_t i = 0; i < sentinels_.size(); ++i) {
      if (auto master = ask(sentinels_[i], deadline, failure)) {
        std::rotate(sentinels_.begin(), sentinels_.begin() + static_cast<std::ptrdiff_t>(i),
                    sentinels_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        return master;
      }
    }
    return std::nullopt;
  }

  std::optional<Address> ask(const Address& sentinel, sys::TimePoint deadline, Reply& failure) {
    const auto share = options_.timeout / (2 * static_cast<int>(sentinels_.size()));
    const sys::TimePoint soon = std::min(deadline, sys::deadline_after(share));
    const auto connection = Connection::open(sentinel, options_, Introduction::none, soon, failure);
    if (!connection) return std::nullopt;
    const Reply reply =
        connection->ask(Command("SENTINEL", "get-master-addr-by-name", options_.master), soon);
    std::uint16_t port = 0;
    if (reply.kind == Reply::Kind::array && reply.elements.size() == 2) {
      const std::string& text = reply.elements[1].text;
      std::from_chars(text.data(), text.data() + text.size(), port);
      if (port != 0) return Address{reply.elements[0].text, port, {}};
    }
    failure = reply.kind == Reply::Kind::nil
                  ? Reply::without(Reply::Kind::unsent,
                                   "the sentinel knows no master called \"" + options_.master + "\"")
              : reply.came() ? senseless("the sentinel")
                             : Reply::without(Reply::Kind::unsent, reply.text);
    return std::nullopt;
  }

  const Options& options_;
  std::mutex mutex_;
  std::vector<Address> sentinels_;
  std::optional<Address> master_;
};

// The nodes of a cluster and their slots.
class Cluster final : public Topology {
 public:
  Cluster(const Options& options, Pool& pool) : options_(options), pool_(pool), nodes_(options.servers) {}

  std::optional<Address> server_of(std::uint16_t slot, sys::TimePoint deadline, Reply& failure) override {
    const std::lock_guard guard(mutex_);
    if (is_stale_ && !load(deadline, failure)) return std::nullopt;
    if (owners_[slot] == kNobody) {
      failure = Reply::without(Reply::Kind::unsent, "no node of the cluster has that slot");
      is_stale_ = true;
      return std::nullopt;
    }
    return nodes_[owners_[slot]];
  }
  std::vector<Address> all(sys::TimePoint deadline, Reply& failure) override {
    const std::lock_guard guard(mutex_);
    if (is_stale_ && !load(deadline, failure)) return {};
    std::vector<Address> found;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (std::find(owners_.begin(), owners_.end(), i) != owners_.end()) found.push_back(nodes_[i]);
    }
    return found;
  }
  void doubt(const Address&) override {
    const std::lock_guard guard(mutex_);
    is_stale_ = true;
  }
  void learn(std::uint16_t slot, const Address& server) override {
    const std::lock_guard guard(mutex_);
    owners_[slot] = index_of(server);
  }
  [[nodiscard]] bool has_substitutes() const override { return true; }

 private:
  static constexpr std::uint16_t kNobody = 0xffff;

  std::uint16_t index_of(const Address& node) {
    const auto index =
        static_cast<std::size_t>(std::find(nodes_.begin(), nodes_.end(), node) - nodes_.begin());
    if (index == nodes_.size()) nodes_.push_back(node);
    return static_cast<std::uint16_t>(index);
  }

  // Any node knows them all.
  bool load(sys::TimePoint deadline, Reply& failure) {
    for (const Address& node : std::vector(nodes_)) {
      const auto share = options_.timeout / 4;
      const sys::TimePoint soon = std::min(deadline, sys::deadline_after(share));
      auto connection = pool_.take(node, soon, failure);
      if (!connection) continue;
      const Reply slots = connection->ask(Command("CLUSTER", "SLOTS"), soon);
      pool_.give_back(std::move(connection));
      if (read(slots, node)) {
        is_stale_ = false;
        return true;
      }
      failure = slots.kind == Reply::Kind::error ? slots
                : slots.came()                   ? senseless("the cluster")
                                                 : Reply::without(Reply::Kind::unsent, slots.text);
    }
    return false;
  }

  // Of each range: the first slot, the last one, the node that has them, its replicas.
  bool read(const Reply& ranges, const Address& asked) {
    if (ranges.kind != Reply::Kind::array || ranges.elements.empty()) return false;
    owners_.fill(kNobody);
    for (const Reply& range : ranges.elements) {
      if (range.elements.size() < 3 || range.elements[2].elements.size() < 2) return false;
      const std::vector<Reply>& node = range.elements[2].elements;
      // A node that does not know its own name has none.
      const Address owner{
          node[0].text.empty() ? asked.host : node[0].text, static_cast<std::uint16_t>(node[1].integer), {}};
      const auto first = static_cast<std::size_t>(range.elements[0].integer);
      const auto last = static_cast<std::size_t>(range.elements[1].integer);
      if (first > last || last >= kSlots) return false;
      const std::uint16_t index = index_of(owner);
      for (std::size_t slot = first; slot <= last; ++slot) owners_[slot] = index;
    }
    return true;
  }

  const Options& options_;
  Pool& pool_;
  std::mutex mutex_;
  std::vector<Address> nodes_;  // grows only, so that their numbers stay
  std::array<std::uint16_t, kSlots> owners_{};
  bool is_stale_ = true;
};

}  // namespace

std::unique_ptr<Topology> make_topology(const Options& options, Pool& pool) {
  switch (options.kind) {
    case Options::Kind::sentinel:
      return std::make_unique<Sentinels>(options);
    case Options::Kind::cluster:
      return std::make_unique<Cluster>(options, pool);
    case Options::Kind::single:
      break;
  }
  return std::make_unique<SingleServer>(options.servers.front());
}

}  // namespace mortise::store::redis
